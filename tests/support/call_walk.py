"""Iterates over the calls that assay makes to a vendor's libraries, one fault in each process.

The stand-ins of tests/support/gpu_shim number the processes of a run (worker.1, worker.2, ...),
count their calls, and read from a plan which call fails in which (ASSAY_SHIM_WALK). So one campaign
of many trials tests many calls: each trial has its own fault, and the others must be unaffected.
"""

import os
import re
import shutil
import struct

# Code and message of one failure for the functions of a library, by prefix of their names.
CODES = (("cublasLt", 14, "CUBLAS_STATUS_INTERNAL_ERROR"), ("cudnn", 5000, "EXECUTION_FAILED (5000)"),
         ("cu", 719, "CUDA_ERROR_LAUNCH_FAILED"), ("nvrtc", 11, "NVRTC_ERROR_INTERNAL_ERROR"),
         ("nvml", 999, "Unknown Error"), ("hiprtc", 11, "HIPRTC_ERROR_INTERNAL_ERROR"),
         ("hipblasLt", 6, "HIPBLAS_STATUS_INTERNAL_ERROR"), ("hip", 719, "hipErrorLaunchFailure"),
         ("rocblas", 6, "rocblas_status_internal_error"), ("rsmi", 3, "RSMI_STATUS"))


class Fault:
    """One call, and how it fails: "code", "crash", "exit" or "hang"."""

    def __init__(self, function, n, deed="code"):
        self.function, self.n, self.deed = function, n, deed
        self.code, self.words = next(c[1:] for c in CODES if function.startswith(c[0]))

    def __str__(self):
        return f"{self.function}@{self.n}:{self.code if self.deed == 'code' else self.deed}"


class Tally:
    """What one process called, and how many of the vendor's objects it left."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.live, count = struct.unpack_from("ii", data)
        entries = [struct.unpack_from("60si", data, 8 + 64 * i) for i in range(count)]
        self.calls = {name.rstrip(b"\0").decode(): calls for name, calls in entries}

    def reached(self, fault):
        return self.calls.get(fault.function, 0) >= fault.n


class Walk:
    """The folder of one run: holds its plan, and the tallies of its processes."""

    def __init__(self, folder, faults=None):
        """`faults`: of processes by name, such as "worker.2"."""
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        with open(os.path.join(folder, "plan"), "w", encoding="utf-8") as file:
            file.writelines(f"{process} {fault}\n" for process, fault in (faults or {}).items())

    def environment(self):
        return {"ASSAY_SHIM_WALK": self.folder}

    def tally(self, process):
        path = os.path.join(self.folder, process)
        return Tally(path) if os.path.exists(path) else None

    def processes(self, role):
        """The number of processes of this role."""
        return len([name for name in os.listdir(self.folder) if re.fullmatch(role + r"\.\d+", name)])


def every_call(calls):
    """All of a tally's calls, in the functions' order."""
    return [(function, n) for function in calls for n in range(1, calls[function] + 1)]


def some_calls(calls):
    """Of each function the first, the second, a middle and the last."""
    return [(function, n) for function, count in calls.items()
            for n in sorted({1, min(2, count), (count + 1) // 2, count})]


def first_calls(calls):
    return [(function, 1) for function in calls]


def faults_of(calls):
    """Some calls failing, and the first of each function crashing, ending the process and hanging."""
    return [Fault(*call) for call in some_calls(calls)] + [
        Fault(*call, deed) for deed in ("crash", "exit", "hang") for call in first_calls(calls)]


# Calls that release, wait or rebind at the end, when no failure can be reported any more.
RELEASES = re.compile(r"Destroy|Free$|Release$|Unload$|_destroy_")
CLOSING = ("cuStreamSynchronize", "cuCtxSetCurrent", "hipStreamSynchronize", "hipSetDevice")
# What a trial does not need; its readings, facts or kernels then lack something.
SPARED = re.compile(r"cuGetProcAddress|cuDeviceGet(Attribute|PCIBusId|Uuid)$|nvml|rsmi|(cu|hip)FuncGetAttribute$"
                    r"|(nvrtc|hiprtc)GetProgramLog|hipDevice(Get|TotalMem)|hipGetDeviceProp"
                    r"|hip(Driver|Runtime)GetVersion$|hiprtcVersion$|rocblas_get_version|cublasLtCreate$")
# Of those, the ones that the device's readings give as a reason.
TOLD = re.compile(r"cuDeviceGet(Attribute|PCIBusId)$|hipDevice(Get|TotalMem)|hip(Driver|Runtime)GetVersion$"
                  r"|hiprtcVersion$")
# What telemetry does not use, or gets in another way: whether the device is a MIG slice by the
# driver, where NVML (with its own handle, the second) does not report it; NVML's version is for
# `devices`.
SILENT = re.compile(r"cuGetProcAddress|cuDeviceGet|cuDriverGetVersion|hip|nvrtc|nvmlSystemGetNVMLVersion"
                    r"|nvmlDeviceGet(MigMode|UUID)@|nvmlDeviceGetHandleByPciBusId_v2@2:")


def is_release(fault, tally):
    return bool(RELEASES.search(fault.function)) or (
        fault.function in CLOSING and fault.n == tally.calls[fault.function])


def is_needed(fault, tally):
    """Whether a trial cannot be ok without this call."""
    return not is_release(fault, tally) and not SPARED.match(fault.function)


def is_reported(fault):
    """Whether the device's readings say that this failed, and why."""
    return bool(TOLD.match(fault.function))


# One or more calls of each library, as `triad` makes them: tested in every run.
SAMPLE = {
    "cuda": [("cuInit", 1), ("cuDeviceGetAttribute", 2), ("nvmlInit_v2", 1), ("nvrtcCompileProgram", 1),
             ("cuModuleGetGlobal", 1), ("cuMemAlloc", 2), ("cuLaunchKernel", 3), ("cuEventElapsedTime", 1)],
    "hip": [("hipInit", 1), ("hipDeviceGetAttribute", 2), ("hiprtcCompileProgram", 1),
            ("hipModuleGetGlobal", 1), ("hipMalloc", 2), ("hipModuleLaunchKernel", 3),
            ("hipEventElapsedTime", 1), ("hipMemcpyDtoHAsync", 1)],
}
