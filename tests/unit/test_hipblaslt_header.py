"""Our constants of hipBLASLt against the texts of its real headers.

usage: test_hipblaslt_header.py OURS [FOLDER...]

hipblaslt.h needs a C++ compiler and all of ROCm, so it is read as text: OURS is backends/hip/hipblaslt.h,
each FOLDER one in which hipblaslt.h (in it or in hipblaslt/), library_types.h (hip/) or hipblas-common.h
(hipblas-common/) may lie. What is not there is skipped by name; with nothing at all the status is 77.
"""

import os
import re
import sys

# Ours, theirs.
NAMES = {
    "HIPBLASLT_LAYOUT_BATCH_COUNT": "HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT",
    "HIPBLASLT_LAYOUT_BATCH_STRIDE": "HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET",
    "HIPBLASLT_DESC_TRANSA": "HIPBLASLT_MATMUL_DESC_TRANSA",
    "HIPBLASLT_DESC_TRANSB": "HIPBLASLT_MATMUL_DESC_TRANSB",
    "HIPBLASLT_DESC_EPILOGUE": "HIPBLASLT_MATMUL_DESC_EPILOGUE",
    "HIPBLASLT_DESC_BIAS_POINTER": "HIPBLASLT_MATMUL_DESC_BIAS_POINTER",
    "HIPBLASLT_DESC_BIAS_TYPE": "HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE",
    "HIPBLASLT_DESC_A_SCALE_POINTER": "HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER",
    "HIPBLASLT_DESC_B_SCALE_POINTER": "HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER",
    "HIPBLASLT_DESC_A_SCALE_MODE": "HIPBLASLT_MATMUL_DESC_A_SCALE_MODE",
    "HIPBLASLT_DESC_B_SCALE_MODE": "HIPBLASLT_MATMUL_DESC_B_SCALE_MODE",
    "HIPBLASLT_SCALE_VEC32_UE8M0": "HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0",
    "HIPBLASLT_EPILOGUE_BIAS": "HIPBLASLT_EPILOGUE_BIAS",
    "HIPBLASLT_PREF_WORKSPACE": "HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES",
}
SAME = re.compile(r"(HIP_R_\w+|HIPBLAS_COMPUTE_\w+|HIPBLAS_OP_[NT])$")
HEADERS = ("hipblaslt.h", "hipblaslt/hipblaslt.h", "hip/library_types.h", "library_types.h",
           "hipblas-common/hipblas-common.h", "hipblas-common.h", "hipblas/hipblas.h")
# In order; a member initializer may follow.
LAYOUTS = {
    "_hipblasLtMatmulAlgo_t": [r"uint8_t\s+data\[16\]", r"size_t\s+max_workspace_bytes"],
    "_hipblasLtMatmulHeuristicResult_t": [
        r"hipblasLtMatmulAlgo_t\s+algo", r"size_t\s+workspaceSize", r"hipblasStatus_t\s+state",
        r"float\s+wavesCount", r"int\s+reserved\[4\]"],
}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))


def enumerators(text):
    """Of every enum the names with their values, counted on where none is written."""
    values = {}
    for body in re.findall(r"enum\b[^{;]*\{(.*?)\}", text, re.S):
        following = 0
        for name, value in re.findall(r"(\w+)\s*(?:=\s*(-?(?:0x)?[0-9a-fA-F]+)[uU]?)?\s*(?:,|$)",
                                      body.strip()):
            following = int(value, 0) if value else following
            values[name] = following
            following += 1
    return values


def ours(path):
    with open(path, encoding="utf-8") as file:
        text = without_comments(file.read())
    values = {name: int(value, 0)
              for name, value in re.findall(r"#define (HIPBLAS\w+) (\d+)u?\s", text)}
    values.update(enumerators(text))
    status = re.search(r"STATUS_MAP\(X\)(.*?)\n\n", text, re.S).group(1)
    values.update({"HIPBLAS_STATUS_" + name: int(value)
                   for name, value in re.findall(r"X\((\w+), (\d+)\)", status)})
    return values


def check_folder(folder, mine):
    checks, wrong, theirs = 0, [], {}
    for name in HEADERS:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        print(path)
        with open(path, encoding="utf-8") as file:
            text = without_comments(file.read())
        theirs.update(enumerators(text))
        for struct, members in LAYOUTS.items():
            body = re.search(r"struct\s+" + struct + r"\s*\{(.*?)\}\s*hipblasLt\w+;", text, re.S)
            if body is None:
                continue
            checks += 1
            if not re.search(r"[^;]*;\s*".join(members), body.group(1), re.S):
                wrong.append(f"{struct} has other members")
    for name, value in mine.items():
        other = NAMES.get(name) or (name if SAME.match(name) or "_STATUS_" in name else None)
        if other not in theirs:
            continue
        checks += 1
        if theirs[other] != value:
            wrong.append(f"{other} is {theirs[other]}, ours {value}")
    for line in wrong:
        print("FAIL", line)
    return checks, len(wrong)


def main():
    mine = ours(sys.argv[1])
    missing = [name for name in NAMES if name not in mine]
    if missing:
        sys.exit(f"FAIL {sys.argv[1]} has no {', '.join(missing)}")
    checks = failures = 0
    for folder in sys.argv[2:]:
        made, failed = check_folder(folder, mine)
        checks, failures = checks + made, failures + failed
        if not any(os.path.exists(os.path.join(folder, name)) for name in HEADERS[:2]):
            print(f"SKIP {folder}: no hipblaslt.h")
    print(f"{checks} checks, {failures} failed")
    sys.exit(1 if failures else 0 if checks else 77)


if __name__ == "__main__":
    main()
