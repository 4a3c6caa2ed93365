//! Loads, stores and atomic instructions in global, flat, buffer, private memory and LDS.
//!
//! Each lane has 16 bytes of memory at `v2` (flat: `v[20:21]`) and 16 bytes of data in `v[8:11]`. What an instruction returns
//! is in `v[12:15]`, which contain the data before, so that preserved halves show.

use crate::common::{execute, numbers};

type Block = [u8; 16];

#[derive(Clone, Copy, PartialEq)]
enum Space {
    Global,
    Flat,
    Buffer,
    Scratch,
    Lds,
}

const SPACES: [Space; 5] = [
    Space::Global,
    Space::Flat,
    Space::Buffer,
    Space::Scratch,
    Space::Lds,
];

impl Space {
    fn prefix(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Flat => "flat",
            Self::Buffer => "buffer",
            Self::Scratch => "scratch",
            Self::Lds => "ds",
        }
    }

    /// A load, or with `data` a store, between the address and registers.
    fn access(self, name: &str, registers: &str, is_store: bool) -> String {
        let (address, end) = match self {
            Self::Global => ("v2", ", s[8:9]"),
            Self::Flat => ("v[20:21]", ""),
            Self::Buffer => ("v2", ", s[12:15], 0 offen"),
            // Each lane has private memory of its own.
            Self::Scratch => ("off", ", off"),
            Self::Lds => ("v2", ""),
        };
        match (self, is_store) {
            (Self::Buffer, _) => format!("{name} {registers}, {address}{end}"),
            (Self::Scratch, true) => format!("{name} off, {registers}, off"),
            (Self::Scratch, false) => format!("{name} {registers}, off, off"),
            (_, true) => format!("{name} {address}, {registers}{end}"),
            (_, false) => format!("{name} {registers}, {address}{end}"),
        }
    }
}

/// Memory and returned registers of each lane after an instruction, or a message of what went wrong.
fn run(arch: &str, space: Space, code: &str, blocks: &[(Block, Block)]) -> Vec<(Block, Block)> {
    let given: Vec<u8> = blocks
        .iter()
        .flat_map(|(memory, data)| [*memory, *data])
        .flatten()
        .collect();
    // Memory is filled and read through the space, unless it is the buffer itself.
    let (fill, read) = match space {
        Space::Global | Space::Flat | Space::Buffer => (
            "global_store_dwordx4 v2, v[4:7], s[8:9]".to_owned(),
            "global_load_dwordx4 v[16:19], v2, s[8:9]".to_owned(),
        ),
        Space::Scratch => (
            "scratch_store_dwordx4 off, v[4:7], off".to_owned(),
            "scratch_load_dwordx4 v[16:19], off, off".to_owned(),
        ),
        Space::Lds => (
            "ds_write_b128 v2, v[4:7]".to_owned(),
            "ds_read_b128 v[16:19], v2".to_owned(),
        ),
    };
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0
         s_load_dwordx2 s[8:9], s[0:1], 0x10
         v_lshlrev_b32_e32 v1, 5, v0
         v_lshlrev_b32_e32 v2, 4, v0
         s_waitcnt lgkmcnt(0)
         s_mov_b32 s12, s8
         s_mov_b32 s13, s9
         s_movk_i32 s14, 0x400
         s_mov_b32 s15, 0x27000
         v_mov_b32_e32 v20, s8
         v_mov_b32_e32 v21, s9
         v_add_co_u32_e32 v20, vcc, v20, v2
         v_addc_co_u32_e32 v21, vcc, 0, v21, vcc
         global_load_dwordx4 v[4:7], v1, s[4:5]
         global_load_dwordx4 v[8:11], v1, s[4:5] offset:16
         global_load_dwordx4 v[12:15], v1, s[4:5] offset:16
         s_waitcnt vmcnt(0)
         {fill}
         {code}
         s_waitcnt vmcnt(0) lgkmcnt(0)
         {read}
         s_waitcnt vmcnt(0) lgkmcnt(0)
         global_store_dwordx4 v1, v[16:19], s[6:7]
         global_store_dwordx4 v1, v[12:15], s[6:7] offset:16"
    );
    let lds = if space == Space::Lds { 1024 } else { 0 };
    let (report, contents) = execute(arch, &body, &[&given, &[0; 2048], &[0; 1024]], lds, 64);
    assert!(
        report.error.is_none() && report.findings.is_empty(),
        "{code}: {report:?}"
    );
    let block = |bytes: &[u8]| bytes.try_into().expect("16 bytes");
    contents[1]
        .chunks_exact(32)
        .map(|row| (block(&row[..16]), block(&row[16..])))
        .collect()
}

/// Memory and data of each lane. A quarter of the lanes has the memory's number as its data.
fn blocks() -> Vec<(Block, Block)> {
    let all = numbers(256, 11);
    let block =
        |low: u64, high: u64| -> Block { (u128::from(low) | u128::from(high) << 64).to_le_bytes() };
    (0..64)
        .map(|lane| {
            let memory = block(all[lane], all[lane + 64]);
            let data = block(all[lane + 128], all[lane + 192]);
            (memory, if lane % 4 == 0 { memory } else { data })
        })
        .collect()
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn double(bytes: &[u8]) -> u64 {
    u64::from(word(bytes)) | u64::from(word(&bytes[4..])) << 32
}

/// Suffix in global memory, in LDS, and result of memory and data.
type Integer = (
    &'static str,
    &'static str,
    fn(u64, u64) -> u64,
    fn(u64, u64) -> u64,
);

fn low(memory: u64) -> i32 {
    memory as i32
}

#[rustfmt::skip]
const INTEGERS: [Integer; 12] = [
    ("add", "add_u", |m, d| m.wrapping_add(d), |m, d| m.wrapping_add(d)),
    ("sub", "sub_u", |m, d| m.wrapping_sub(d), |m, d| m.wrapping_sub(d)),
    ("smin", "min_i", |m, d| low(m).min(low(d)) as u64, |m, d| (m as i64).min(d as i64) as u64),
    ("umin", "min_u", |m, d| m.min(d), |m, d| m.min(d)),
    ("smax", "max_i", |m, d| low(m).max(low(d)) as u64, |m, d| (m as i64).max(d as i64) as u64),
    ("umax", "max_u", |m, d| m.max(d), |m, d| m.max(d)),
    ("and", "and_b", |m, d| m & d, |m, d| m & d),
    ("or", "or_b", |m, d| m | d, |m, d| m | d),
    ("xor", "xor_b", |m, d| m ^ d, |m, d| m ^ d),
    ("inc", "inc_u", |m, d| if m >= d { 0 } else { m + 1 }, |m, d| if m >= d { 0 } else { m + 1 }),
    ("dec", "dec_u", |m, d| if m == 0 || m > d { d } else { m - 1 }, |m, d| if m == 0 || m > d { d } else { m - 1 }),
    ("swap", "wrxchg_rtn_b", |_, d| d, |_, d| d),
];

/// The new number in memory, from memory and data.
type Update = Box<dyn Fn(&Block, &Block) -> u64>;

/// An atomic instruction with the bytes that it changes, whether it returns the old ones, and its result.
struct Atomic {
    arch: &'static str,
    space: Space,
    code: String,
    bytes: usize,
    returns: bool,
    result: Update,
}

/// The code of an atomic instruction.
fn atomic(space: Space, name: &str, returns: bool, data: usize, result: usize) -> String {
    let registers = |first: usize, bytes: usize| {
        if bytes == 4 {
            format!("v{first}")
        } else {
            format!("v[{first}:{}]", first + bytes / 4 - 1)
        }
    };
    let (old, data) = (registers(12, result), registers(8, data));
    match (space, returns) {
        (Space::Global, true) => format!("{name} {old}, v2, {data}, s[8:9] sc0"),
        (Space::Global, false) => format!("{name} v2, {data}, s[8:9]"),
        (Space::Flat, true) => format!("{name} {old}, v[20:21], {data} sc0"),
        (Space::Flat, false) => format!("{name} v[20:21], {data}"),
        // The data is in the registers of the result.
        (_, true) => format!(
            "{name} {}, v2, s[12:15], 0 offen sc0",
            data.replace("v[8:", "v[12:")
                .replace("v8", "v12")
                .replace(":9]", ":13]")
                .replace(":11]", ":15]")
        ),
        (_, false) => format!("{name} {data}, v2, s[12:15], 0 offen"),
    }
}

fn atomics() -> Vec<Atomic> {
    let mut all = Vec::new();
    let mut add = |arch, space, code: String, bytes, returns, result: Update| {
        all.push(Atomic {
            arch,
            space,
            code,
            bytes,
            returns,
            result,
        });
    };
    let narrow = |f: fn(u64, u64) -> u64| -> Update {
        Box::new(move |m, d| f(u64::from(word(m)), u64::from(word(d))) & 0xffff_ffff)
    };
    let wide = |f: fn(u64, u64) -> u64| -> Update { Box::new(move |m, d| f(double(m), double(d))) };
    for returns in [false, true] {
        for (name, ds, small, large) in INTEGERS {
            for space in [Space::Global, Space::Flat, Space::Buffer] {
                let name = format!("{}_atomic_{name}", space.prefix());
                add(
                    "gfx942",
                    space,
                    atomic(space, &name, returns, 4, 4),
                    4,
                    returns,
                    narrow(small),
                );
                add(
                    "gfx942",
                    space,
                    atomic(space, &format!("{name}_x2"), returns, 8, 8),
                    8,
                    returns,
                    wide(large),
                );
            }
            // An exchange in LDS always returns.
            let exchange = ds.contains("rtn");
            if exchange && !returns {
                continue;
            }
            let (name, kind) = ds.rsplit_once('_').expect("a type");
            let old = |registers: &str| {
                if returns {
                    format!("{registers}, ")
                } else {
                    String::new()
                }
            };
            let rtn = if returns && !exchange { "_rtn" } else { "" };
            add(
                "gfx942",
                Space::Lds,
                format!("ds_{name}{rtn}_{kind}32 {}v2, v8", old("v12")),
                4,
                returns,
                narrow(small),
            );
            add(
                "gfx942",
                Space::Lds,
                format!("ds_{name}{rtn}_{kind}64 {}v2, v[8:9]", old("v[12:13]")),
                8,
                returns,
                wide(large),
            );
        }
        // The new number, then the one to compare with.
        let swap4 = || -> Update {
            Box::new(|m, d| {
                u64::from(if word(m) == word(&d[4..]) {
                    word(d)
                } else {
                    word(m)
                })
            })
        };
        let swap8 = || -> Update {
            Box::new(|m, d| {
                if double(m) == double(&d[8..]) {
                    double(d)
                } else {
                    double(m)
                }
            })
        };
        for space in [Space::Global, Space::Flat, Space::Buffer] {
            let name = format!("{}_atomic_cmpswap", space.prefix());
            add(
                "gfx942",
                space,
                atomic(space, &name, returns, 8, 4),
                4,
                returns,
                swap4(),
            );
            add(
                "gfx942",
                space,
                atomic(space, &format!("{name}_x2"), returns, 16, 8),
                8,
                returns,
                swap8(),
            );
        }
        let (rtn, four, eight) = if returns {
            ("_rtn", "v12, ", "v[12:13], ")
        } else {
            ("", "", "")
        };
        // LDS: the number to compare with, then the new one.
        add(
            "gfx942",
            Space::Lds,
            format!("ds_cmpst{rtn}_b32 {four}v2, v9, v8"),
            4,
            returns,
            swap4(),
        );
        add(
            "gfx942",
            Space::Lds,
            format!("ds_cmpst{rtn}_b64 {eight}v2, v[10:11], v[8:9]"),
            8,
            returns,
            swap8(),
        );
    }
    all
}

/// Names of the atomic instructions on floats, in the architecture that has them, with bytes and sums of 1.5 and -0.25.
#[rustfmt::skip]
const FLOATS: [(&str, &str, u64, u64, u64); 9] = [
    ("add_f32", "add_f32", 0x3fc0_0000, 0xbe80_0000, 0x3fa0_0000),
    ("add_f64", "add_f64", 0x3ff8_0000_0000_0000, 0xbfd0_0000_0000_0000, 0x3ff4_0000_0000_0000),
    ("max_f64", "", 0x3ff8_0000_0000_0000, 0xbfd0_0000_0000_0000, 0x3ff8_0000_0000_0000),
    ("min_f64", "", 0x3ff8_0000_0000_0000, 0xbfd0_0000_0000_0000, 0xbfd0_0000_0000_0000),
    ("pk_add_f16", "pk_add_f16", 0xb400_3e00, 0x3e00_3e00, 0x3d00_4200),
    ("pk_add_bf16", "pk_add_bf16", 0xbe80_3fc0, 0x3fc0_3fc0, 0x3fa0_4040),
    ("", "add_rtn_f32", 0x3fc0_0000, 0xbe80_0000, 0x3fa0_0000),
    ("", "add_rtn_f64", 0x3ff8_0000_0000_0000, 0xbfd0_0000_0000_0000, 0x3ff4_0000_0000_0000),
    ("", "pk_add_rtn_f16", 0xb400_3e00, 0x3e00_3e00, 0x3d00_4200),
];

const PACKED_RTN: &str = "ds_pk_add_rtn_bf16 v12, v2, v8";

fn float_atomics() -> Vec<(Space, String, u64, u64, u64)> {
    let mut all = Vec::new();
    for (name, ds, memory, data, result) in FLOATS {
        let bytes = if memory >> 32 == 0 { 4 } else { 8 };
        for space in [Space::Global, Space::Flat, Space::Buffer] {
            // Buffers have no bfloat16 sum on gfx942.
            if name.is_empty() || space == Space::Buffer && name == "pk_add_bf16" {
                continue;
            }
            let name = format!("{}_atomic_{name}", space.prefix());
            all.push((
                space,
                atomic(space, &name, false, bytes, bytes),
                memory,
                data,
                result,
            ));
        }
        if !ds.is_empty() {
            let old = if ds.contains("rtn") {
                ["v12, ", "v[12:13], "][bytes / 8]
            } else {
                ""
            };
            let data_registers = ["v8", "v[8:9]"][bytes / 8];
            all.push((
                Space::Lds,
                format!("ds_{ds} {old}v2, {data_registers}"),
                memory,
                data,
                result,
            ));
        }
    }
    all.push((
        Space::Lds,
        PACKED_RTN.to_owned(),
        0xbe80_3fc0,
        0x3fc0_3fc0,
        0x3fa0_4040,
    ));
    all.push((
        Space::Buffer,
        "buffer_atomic_pk_add_bf16 v8, v2, s[12:15], 0 offen".to_owned(),
        0xbe80_3fc0,
        0x3fc0_3fc0,
        0x3fa0_4040,
    ));
    all
}

/// A load or a store: name in global memory and in LDS, and bytes.
type Transfer = (&'static str, &'static str, usize);

const LOADS: [Transfer; 14] = [
    ("load_ubyte", "read_u8", 1),
    ("load_sbyte", "read_i8", 1),
    ("load_ushort", "read_u16", 2),
    ("load_sshort", "read_i16", 2),
    ("load_ubyte_d16", "read_u8_d16", 1),
    ("load_ubyte_d16_hi", "read_u8_d16_hi", 1),
    ("load_sbyte_d16", "read_i8_d16", 1),
    ("load_sbyte_d16_hi", "read_i8_d16_hi", 1),
    ("load_short_d16", "read_u16_d16", 2),
    ("load_short_d16_hi", "read_u16_d16_hi", 2),
    ("load_dword", "read_b32", 4),
    ("load_dwordx2", "read_b64", 8),
    ("load_dwordx3", "read_b96", 12),
    ("load_dwordx4", "read_b128", 16),
];

const STORES: [Transfer; 8] = [
    ("store_byte", "write_b8", 1),
    ("store_byte_d16_hi", "write_b8_d16_hi", 1),
    ("store_short", "write_b16", 2),
    ("store_short_d16_hi", "write_b16_d16_hi", 2),
    ("store_dword", "write_b32", 4),
    ("store_dwordx2", "write_b64", 8),
    ("store_dwordx3", "write_b96", 12),
    ("store_dwordx4", "write_b128", 16),
];

fn transfers(list: &[Transfer], is_store: bool) -> Vec<(Space, &'static str, usize, String)> {
    let first = if is_store { 8 } else { 12 };
    let one = |space: Space, (name, ds, bytes): Transfer| {
        let registers = if bytes <= 4 {
            format!("v{first}")
        } else {
            format!("v[{first}:{}]", first + bytes / 4 - 1)
        };
        let full = format!(
            "{}_{}",
            space.prefix(),
            if space == Space::Lds { ds } else { name }
        );
        let code = if is_store && space == Space::Lds {
            format!("{full} v2, {registers}")
        } else {
            space.access(&full, &registers, is_store)
        };
        (space, name, bytes, code)
    };
    SPACES
        .iter()
        .flat_map(|space| list.iter().map(move |transfer| one(*space, *transfer)))
        .collect()
}

/// Two accesses at once in LDS, with the bytes from the lane's address that they move. Offsets are in elements, or 64 of them.
const PAIRS: [(&str, usize, [usize; 2]); 6] = [
    ("ds_read2_b32 v[12:13], v2 offset0:3 offset1:1", 4, [12, 4]),
    ("ds_read2_b64 v[12:15], v2 offset0:1 offset1:0", 8, [8, 0]),
    ("ds_read2st64_b64 v[12:15], v2 offset1:0", 8, [0, 0]),
    (
        "ds_write2_b64 v2, v[10:11], v[8:9] offset0:0 offset1:1",
        8,
        [0, 8],
    ),
    ("ds_write2st64_b32 v2, v8, v8 offset1:0", 4, [0, 0]),
    ("ds_write2st64_b64 v2, v[8:9], v[8:9] offset1:0", 8, [0, 0]),
];

pub(crate) fn codes() -> Vec<String> {
    let mut all: Vec<String> = atomics().into_iter().map(|atomic| atomic.code).collect();
    all.extend(float_atomics().into_iter().map(|(_, code, ..)| code));
    all.extend(transfers(&LOADS, false).into_iter().map(|(.., code)| code));
    all.extend(transfers(&STORES, true).into_iter().map(|(.., code)| code));
    all.extend(PAIRS.map(|(code, ..)| code.to_owned()));
    all
}

#[test]
fn atomic_instructions_change_memory_and_return_what_it_was() {
    let mut blocks = blocks();
    for (lane, (memory, data)) in blocks.iter_mut().enumerate() {
        // Some comparisons are successful.
        match lane % 8 {
            1 => data[4..8].copy_from_slice(&memory[..4]),
            2 => data[8..].copy_from_slice(&memory[..8]),
            _ => {}
        }
    }
    for Atomic {
        arch,
        space,
        code,
        bytes,
        returns,
        result,
    } in atomics()
    {
        let after = run(arch, space, &code, &blocks);
        for ((memory, data), (changed, returned)) in blocks.iter().zip(after) {
            let mut wanted = *memory;
            wanted[..bytes].copy_from_slice(&result(memory, data).to_le_bytes()[..bytes]);
            assert_eq!(changed, wanted, "{code} of {memory:x?} and {data:x?}");
            let old = if returns { memory } else { data };
            assert_eq!(
                returned[..bytes],
                old[..bytes],
                "{code}: the returned value"
            );
        }
    }
}

#[test]
fn atomic_instructions_on_floats_add_and_compare() {
    for (space, code, memory, data, result) in float_atomics() {
        let block = |number: u64| -> Block { u128::from(number).to_le_bytes() };
        let bytes = if memory >> 32 == 0 { 4 } else { 8 };
        for (changed, _) in run(
            "gfx950",
            space,
            &code,
            &vec![(block(memory), block(data)); 64],
        ) {
            assert_eq!(changed[..bytes], result.to_le_bytes()[..bytes], "{code}");
        }
    }
}

#[test]
fn loads_extend_and_preserve() {
    let blocks = blocks();
    for (space, name, bytes, code) in transfers(&LOADS, false) {
        for ((memory, data), (_, returned)) in
            blocks.iter().zip(run("gfx942", space, &code, &blocks))
        {
            let mut wanted = *data;
            if bytes >= 4 {
                wanted[..bytes].copy_from_slice(&memory[..bytes]);
            } else {
                let number = word(memory) & if bytes == 1 { 0xff } else { 0xffff };
                let signed = match (name.contains("sbyte") || name.contains("sshort"), bytes) {
                    (true, 1) => number as u8 as i8 as i32 as u32,
                    (true, _) => number as u16 as i16 as i32 as u32,
                    _ => number,
                };
                let old = word(data);
                let register = match (name.contains("d16"), name.ends_with("_hi")) {
                    (true, true) => old & 0xffff | signed << 16,
                    (true, false) => old & 0xffff_0000 | signed & 0xffff,
                    _ => signed,
                };
                wanted[..4].copy_from_slice(&register.to_le_bytes());
            }
            assert_eq!(returned, wanted, "{code} of {memory:x?}");
        }
    }
}

#[test]
fn stores_write_their_bytes_only() {
    let blocks = blocks();
    for (space, name, bytes, code) in transfers(&STORES, true) {
        for ((memory, data), (changed, _)) in
            blocks.iter().zip(run("gfx942", space, &code, &blocks))
        {
            let mut wanted = *memory;
            let from = if name.ends_with("_hi") { 2 } else { 0 };
            wanted[..bytes].copy_from_slice(&data[from..from + bytes]);
            assert_eq!(changed, wanted, "{code} of {data:x?}");
        }
    }
}

#[test]
fn pairs_of_accesses_use_both_offsets() {
    let blocks = blocks();
    for (code, bytes, [first, second]) in PAIRS {
        for ((memory, data), (changed, returned)) in
            blocks.iter().zip(run("gfx942", Space::Lds, code, &blocks))
        {
            if code.starts_with("ds_read") {
                assert_eq!(returned[..bytes], memory[first..first + bytes], "{code}");
                assert_eq!(
                    returned[bytes..2 * bytes],
                    memory[second..second + bytes],
                    "{code}"
                );
            } else {
                let swapped = code.contains("v[10:11]");
                let from = if swapped { 8 } else { 0 };
                assert_eq!(
                    changed[first..first + bytes],
                    data[from..from + bytes],
                    "{code}"
                );
                assert_eq!(changed[second..second + bytes], data[..bytes], "{code}");
            }
        }
    }
}
