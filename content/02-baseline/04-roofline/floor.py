# test: run
"""The shortest possible time of an op: every byte crosses the memory bus at least once."""

PEAK_BANDWIDTH = {"gfx90a": 1.638e12, "gfx942": 5.3e12, "gfx950": 8.0e12}  # bytes a second


# anchor: floor
def floor_us(bytes_moved: int, arch: str) -> float:
    """MI210 or one half of an MI250X; MI300X; MI350X and MI355X."""
    return bytes_moved / PEAK_BANDWIDTH[arch] * 1e6


def rms_norm_bytes(rows: int, columns: int, element_size: int) -> int:
    """Read x and the weight, write y."""
    return (2 * rows * columns + columns) * element_size
# end: floor


if __name__ == "__main__":
    size = rms_norm_bytes(16384, 4096, element_size=2)
    for arch in PEAK_BANDWIDTH:
        print(f"{arch}: {size / 1e6:.1f} MB need {floor_us(size, arch):.1f} µs")
    assert round(floor_us(size, "gfx942"), 1) == 50.6
