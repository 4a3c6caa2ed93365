# test: run
"""How much to write between two calls so that the second one finds nothing in a cache."""


# anchor: flush
# L2 and Infinity Cache in MiB. PyTorch's `L2_cache_size` is 4 MB on an MI300X: one XCD's L2.
CACHES_MIB = {"gfx90a": (8, 0), "gfx942": (32, 256), "gfx950": (32, 256)}


def flush_mib(arch: str) -> int:
    """Write at least this much between calls to evict all data of the last call from the caches."""
    return max(2 * sum(CACHES_MIB[arch]), 64)
# end: flush


if __name__ == "__main__":
    for arch in CACHES_MIB:
        print(f"{arch}: flush {flush_mib(arch)} MiB")
    assert flush_mib("gfx942") == flush_mib("gfx950") == 576
