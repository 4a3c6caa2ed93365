"""Cases for reading a rocpd database."""

import sqlite3

from hipward_kernels.exercise import expect, expect_close

TABLES = """
CREATE TABLE "rocpd_info_kernel_symbol{id}" ("id" INTEGER PRIMARY KEY, "guid" TEXT, "kernel_name" TEXT,
  "display_name" TEXT, "sgpr_count" INTEGER, "arch_vgpr_count" INTEGER, "accum_vgpr_count" INTEGER);
CREATE TABLE "rocpd_kernel_dispatch{id}" ("id" INTEGER PRIMARY KEY, "guid" TEXT, "agent_id" INTEGER,
  "kernel_id" INTEGER, "dispatch_id" INTEGER, "start" BIGINT, "end" BIGINT, "private_segment_size" INTEGER,
  "group_segment_size" INTEGER);
"""
GEMM, NORM, SOFTMAX = "Cijk_Ailk_Bljk_MT128x128x32", "rms_norm_kernel", "softmax_warp_forward"


def database(random, launches, suffix="_0000a1_7f2e", into=None, names=(GEMM, NORM, SOFTMAX)):
    """A database with these launches, (name, start, end, scratch), stored in any order."""
    connection = into or sqlite3.connect(":memory:")
    connection.executescript(TABLES.format(id=suffix))
    ids = {}
    for number, name in enumerate(random.sample(names, len(names)), start=1):
        ids[name] = number
        shown = name if name == GEMM else None
        row = (number, "g", f"{name}.kd" if shown else name, shown, 32, 64, 0)
        connection.execute(f'INSERT INTO "rocpd_info_kernel_symbol{suffix}" VALUES (?, ?, ?, ?, ?, ?, ?)', row)
    order = list(enumerate(launches, start=1))
    random.shuffle(order)
    for number, (name, start, end, scratch) in order:
        row = (number, "g", 4, ids[name], number, start, end, scratch, 0)
        connection.execute(f'INSERT INTO "rocpd_kernel_dispatch{suffix}" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)', row)
    return connection


def made_up(random, count, start=0, names=(GEMM, NORM, SOFTMAX)):
    """Launches one after the other."""
    launches, now = [], start
    for _ in range(count):
        end = now + random.randint(2_000, 90_000)
        launches.append((random.choice(names), now, end, random.choice([0, None])))
        now = end + random.randint(1, 9_000)
    return launches


def same(answer, found, launches):
    want = sorted((start, end, name) for name, start, end, _ in launches if end is not None)
    got = [(launch.start_ns, launch.end_ns, launch.kernel) for launch in found]
    expect(len(got) == len(want), f"{len(got)} launches, expected {len(want)}")
    for number, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        expect(ours == theirs, f"launch {number} is {ours}, expected {theirs}")


def case_launches(answer, random):
    """Every launch, in order, with its name"""
    launches = made_up(random, 33)
    same(answer, answer.dispatches(database(random, launches)), launches)


def case_running(answer, random):
    """A kernel that had not ended is left out"""
    launches = [*made_up(random, 9), (NORM, 9_000_000, None, 0)]
    same(answer, answer.dispatches(database(random, launches)), launches)


def case_two_recordings(answer, random):
    """Two recordings in one database, with their own ids"""
    first, second = made_up(random, 17), made_up(random, 15, start=500_000)
    connection = database(random, first, "_0000a1_01")
    # The same number means another kernel in the second recording.
    other = ("flash_fwd_kernel", NORM, SOFTMAX, "triton_poi_fused_mul_0", "triton_red_fused_sum_1")
    second = [("flash_fwd_kernel" if name == GEMM else name, *rest) for name, *rest in second]
    database(random, second, "_0000a1_02", into=connection, names=other)
    same(answer, answer.dispatches(connection), first + second)


def case_hotspots(answer, random):
    """Total time decides, not the longest launch"""
    launches = [answer.Dispatch(GEMM, 0, 100_000, 0)]
    length = random.randint(2_000, 3_000)
    launches += [answer.Dispatch(NORM, 200_000 + n * 5_000, 200_000 + n * 5_000 + length, 0) for n in range(100)]
    random.shuffle(launches)
    found = answer.hotspots(launches)
    expect([each.kernel for each in found] == [NORM, GEMM], f"the order is {[each.kernel for each in found]}")
    expect([each.calls for each in found] == [100, 1], f"the calls are {[each.calls for each in found]}")
    total = 100_000 + 100 * length
    # Quotients of integers below 2**53.
    expect_close(found[0].percent, 100 * (100 * length) / total, rtol=1e-9)
    expect_close(sum(each.percent for each in found), 100.0, rtol=1e-9)


def case_spilling(answer, random):
    """Kernels that spill registers"""
    launches = made_up(random, 20, names=(NORM, SOFTMAX))
    launches += [(GEMM, 9_000_000, 9_004_000, random.choice([4, 108, 228]))]
    found = answer.spilling(answer.dispatches(database(random, launches)))
    expect(set(found) == {GEMM}, f"spilling are {sorted(found)}, expected {GEMM}")
