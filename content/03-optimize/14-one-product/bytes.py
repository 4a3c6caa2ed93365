# test: run
"""Bytes and operations of three projections and of one, for several numbers of rows."""

# anchor: bytes
def traffic(rows: int, inputs: int, outputs: list[int], joined: bool, size: int = 2) -> int:
    """Bytes that the products read and write: the input once for each product, weights, results."""
    reads = (1 if joined else len(outputs)) * rows * inputs
    return size * (reads + inputs * sum(outputs) + rows * sum(outputs))


def operations(rows: int, inputs: int, outputs: list[int]) -> int:
    return 2 * rows * inputs * sum(outputs)  # the same, joined or not
# end: bytes


RIDGE = 1307.4e12 / 5.3e12  # operations for each byte at the peaks of an MI300X (gfx942)

if __name__ == "__main__":
    print("  rows  separate    joined  saved  operations a byte")
    for rows in (1, 64, 512, 8192):
        shape = (rows, 1024, [1024, 1024, 1024])
        separate, joined = traffic(*shape, joined=False), traffic(*shape, joined=True)
        intensity = operations(*shape) / joined
        bound = "compute-bound" if intensity > RIDGE else "memory-bound"
        print(
            f"{rows:6} {separate / 1e6:6.1f} MB {joined / 1e6:6.1f} MB {1 - joined / separate:6.1%}"
            f" {intensity:8.0f}  {bound} on an MI300X"
        )
