"""The rate of PyTorch's bf16 gemm of 4096 x 4096 x 4096, on device number argv[1].

Prints one line of JSON: {"flops_per_s", "torch", "device"}, or {"absent": why}. The gemm is that of
a linear layer (B transposed, C in bf16), through cuBLAS or hipBLASLt as PyTorch chooses; the rate is the
mean of blocks of a tenth of a second over two seconds, by the device's events: under a limit on power
the fastest block is that of a clock that does not last, and what it is compared with is a mean, too.
"""

import json
import sys

SIDE = 4096
BLOCKS = 20


def absent(why):
    print(json.dumps({"absent": str(why)}))
    sys.exit(0)


def main():
    try:
        import torch
    except ImportError as error:
        absent(error)
    index = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    if not torch.cuda.is_available() or index >= torch.cuda.device_count():
        absent(f"PyTorch {torch.__version__} sees no device {index}")
    device = torch.device("cuda", index)
    torch.manual_seed(1)
    a = torch.randn(SIDE, SIDE, device=device).to(torch.bfloat16)
    b = torch.randn(SIDE, SIDE, device=device).to(torch.bfloat16)
    c = torch.empty(SIDE, SIDE, device=device, dtype=torch.bfloat16)
    transposed = b.t()

    def block(launches):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(launches):
            torch.matmul(a, transposed, out=c)
        end.record()
        torch.cuda.synchronize(device)
        return start.elapsed_time(end) / 1e3 / launches

    with torch.cuda.device(device), torch.no_grad():
        block(10)
        launches = max(1, int(0.1 / block(20)))
        for _ in range(5):
            block(launches)  # the clock settles
        seconds = sum(block(launches) for _ in range(BLOCKS)) / BLOCKS
    print(json.dumps({"flops_per_s": 2.0 * SIDE**3 / seconds, "torch": torch.__version__,
                      "device": torch.cuda.get_device_name(device)}))


if __name__ == "__main__":
    main()
