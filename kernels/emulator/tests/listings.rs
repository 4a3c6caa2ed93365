//! Listings: errors that name their line, and listings that were damaged at random.

mod common;

use common::listing;
use hipward_emulator::{Launch, Listing, Memory, Program, run};

const TWICE: &str = include_str!("listings/twice.s");

fn error_of(text: &str) -> String {
    match Listing::parse(text).and_then(|listing| Program::new(&listing, None)) {
        Ok(_) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_the_line_and_what_is_wrong() {
    for (body, expected) in [
        (
            "v_frobnicate_f32 v0, v1",
            "line 3: the instruction v_frobnicate_f32 is not supported on gfx942",
        ),
        (
            "v_add_f32_e32 v0, v1, v2 wibble",
            "line 3: v_add_f32_e32: the modifier wibble is not supported here",
        ),
        (
            "v_add_f32_e32 v0, v1",
            "line 3: v_add_f32_e32: operand 3 is missing",
        ),
        (
            "v_add_f32_e32 v0, v1, v2, v3",
            "line 3: v_add_f32_e32: 4 operands instead of 3",
        ),
        (
            "v_add_f32_e32 v0, v[1:2], v2",
            "line 3: v_add_f32_e32: an operand must be 1 registers wide",
        ),
        (
            "v_add_f32_e32 v256, v1, v2",
            "line 3: v_add_f32_e32: the operand v256 is not supported",
        ),
        (
            "s_branch .LNOWHERE",
            "line 3: s_branch: there is no label .LNOWHERE",
        ),
        (
            "v_and_b32_e32 v0, -v1, v2",
            "line 3: v_and_b32_e32: an integer operand has no sign modifier",
        ),
        (
            "s_waitcnt wibble(0)",
            "line 3: s_waitcnt: wibble(0) is not supported",
        ),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3",
            "line 3: s_setreg_imm32_b32: bits 0 to 3 of the mode are not supported",
        ),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4294967295), 3",
            "line 3: s_setreg_imm32_b32: bits 4 to 4294967294 of the mode are not supported",
        ),
        (
            "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], 0",
            "line 3: the instruction v_mfma_f32_16x16x32_f16 is not supported on gfx942",
        ),
        (
            ".long 0xbf810000",
            "line 3: the instruction .long is not supported on gfx942",
        ),
        (
            "?? v0, v1",
            "line 3: the instruction ?? is not supported on gfx942",
        ),
    ] {
        assert_eq!(error_of(&listing("gfx942", body, 0, 0)), expected);
    }
}

#[test]
fn listings_of_other_gpus_and_parts_of_listings_are_refused() {
    assert_eq!(
        error_of(&TWICE.replace("gfx942", "gfx1100")),
        "line 1: gfx1100 cannot be executed; gfx90a, gfx942 and gfx950 can"
    );
    assert!(
        error_of("").starts_with("line 1: the listing ends here without an .amdgcn_target line")
    );
    let before = |end: &str| &TWICE[..TWICE.find(end).expect("a part of the listing")];
    for (end, expected) in [
        (
            "\ts_endpgm",
            "line 11: the listing ends here without a kernel: there is no .amdhsa_kernel block",
        ),
        (
            ".end_amdhsa",
            "line 14: the .amdhsa_kernel block has no end: the listing is incomplete",
        ),
        (
            "\t.amdgpu_metadata",
            "line 14: the kernel twice has no entry in .amdgpu_metadata; its arguments are unknown",
        ),
        (
            "        .size:",
            "line 19: the .amdgpu_metadata block has no end: the listing is incomplete",
        ),
    ] {
        let error = error_of(before(end));
        assert!(error.starts_with(expected), "{expected}: {error}");
    }
}

#[test]
fn damaged_metadata_and_kernels_that_are_not_there_have_a_line() {
    let changed = |from: &str, to: &str| {
        assert!(TWICE.contains(from), "{from}");
        error_of(&TWICE.replace(from, to))
    };
    for (from, to, expected) in [
        (
            "        .size:           8\n",
            "",
            "line 23: the argument has no valid .size",
        ),
        (
            ".size:           8",
            ".size: many",
            "line 23: the argument has no valid .size",
        ),
        (
            "twice:\n",
            "thrice:\n",
            "line 14: the kernel twice has a descriptor but no code",
        ),
        (
            "user_sgpr_count 2",
            "user_sgpr_count two",
            "line 15: .amdhsa_user_sgpr_count has the value two, which is not an integer",
        ),
    ] {
        assert_eq!(changed(from, to), expected);
    }
    let listing = Listing::parse(TWICE).expect("a listing");
    let error = listing.kernel(Some("half")).expect_err("no such kernel");
    assert_eq!(
        error.to_string(),
        "line 4: the listing has no kernel half; it has: twice"
    );
}

#[test]
fn data_that_cannot_be_read_is_named_with_its_line() {
    let listing = |data: &str| {
        let code = "s_getpc_b64 s[4:5]\n.Lpost:\ns_add_u32 s4, s4, TABLE@rel32@lo+4\ns_addc_u32 s5, s5, TABLE@rel32@hi+12";
        listing("gfx942", code, 0, 0) + "\t.section\t.rodata,\"a\",@progbits\nTABLE:\n" + data
    };
    assert_eq!(error_of(&listing("\t.long\t7\n")), "none");
    let first = 2 + listing("").lines().count() - 1;
    for (data, expected) in [
        ("\t.uleb128\t7\n", "the data .uleb128 is not supported"),
        (
            "\t.quad\tNOWHERE\n",
            "the data contains the address of NOWHERE, which is not a function or data of this listing",
        ),
    ] {
        assert_eq!(
            error_of(&listing(data)),
            format!("line {first}: {expected}")
        );
    }
}

fn launch(arguments: Vec<Vec<u8>>) -> Launch {
    Launch {
        grid: [1, 1, 1],
        workgroup: [64, 1, 1],
        arguments,
        dynamic_lds: 0,
        budget: 1000,
    }
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let listing = Listing::parse(TWICE).expect("a valid listing");
    let program = Program::new(&listing, None).expect("supported instructions");
    let refusal = |launch: Launch| match run(&program, &launch, &mut Memory::new()) {
        Ok(_) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    let address = || vec![vec![0; 8]];
    assert_eq!(
        refusal(launch(vec![])),
        "line 4: twice takes 1 argument; the launch has 0"
    );
    assert_eq!(
        refusal(launch(vec![vec![0; 4]])),
        "line 23: argument 0 takes 8 bytes; the launch has 4"
    );
    assert!(
        refusal(Launch {
            workgroup: [1024, 1, 1],
            ..launch(address())
        })
        .contains("twice permits 1 to 256")
    );
    assert!(
        refusal(Launch {
            workgroup: [u32::MAX; 3],
            ..launch(address())
        })
        .contains("twice permits 1 to 256")
    );
    assert_eq!(
        refusal(Launch {
            grid: [1, 0, 1],
            ..launch(address())
        }),
        "line 4: the grid is empty"
    );
    assert!(
        refusal(Launch {
            dynamic_lds: 1 << 30,
            ..launch(address())
        })
        .contains("gfx942 has 65536")
    );
    let endless = Launch {
        grid: [u32::MAX; 3],
        ..launch(address())
    };
    let report = run(&program, &endless, &mut Memory::new()).expect("the launch fits");
    assert!(report.error.is_some_and(|error| {
        error
            .message
            .contains("did not end within 1000 instructions")
    }));
}

/// Kernels with every kind of instruction.
fn sources() -> Vec<String> {
    let body = "s_load_dwordx4 s[0:3], s[0:1], 0x0
        v_lshlrev_b32_e32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        global_load_dwordx4 v[4:7], v1, s[0:1] offset:16
        buffer_load_dword v2, v1, s[0:3], 0 offen offset:4
        s_waitcnt vmcnt(0)
        .LOOP:
        v_pk_fma_f32 v[4:5], v[6:7], v[4:5], v[6:7] op_sel_hi:[0,1,1] neg_lo:[1,0,0]
        v_add_f32_dpp v4, v4, v4 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
        v_and_b32_sdwa v4, v4, v5 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD
        v_cmp_gt_f32_e64 s[6:7], s4, v4
        v_cndmask_b32_e64 v5, -v4, 1.0, s[6:7]
        v_div_scale_f32 v8, vcc, v4, v5, v4
        v_mad_u64_u32 v[8:9], s[8:9], v4, v5, v[6:7]
        v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
        ds_write_b64 v1, v[4:5] offset:8
        ds_read2_b32 v[8:9], v1 offset0:1 offset1:3
        ds_bpermute_b32 v8, v1, v4
        s_waitcnt lgkmcnt(0)
        s_barrier
        s_add_u32 s4, s4, 1
        s_cmp_lt_u32 s4, 3
        s_cbranch_scc1 .LOOP
        global_atomic_add v8, v1, v4, s[0:1] sc0
        global_store_dwordx2 v1, v[8:9], s[0:1]";
    vec![TWICE.to_owned(), listing("gfx942", body, 2, 4096)]
}

#[test]
fn damaged_listings_never_panic() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % below.max(1)
    };
    let pieces = [
        "v255",
        "s[4:99]",
        "a[0:31]",
        "-1",
        "0xffffffffffffffff",
        "exec",
        "vcc",
        "m0",
        "[",
        ":",
        ",",
        "",
        "off",
        "1.0",
        "|",
        "\u{fffd}",
    ];
    let (mut ran, mut refused) = (0, 0);
    for source in sources() {
        for _ in 0..3000 {
            let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
            for _ in 0..1 + random(3) {
                let at = random(lines.len());
                let other = lines[random(lines.len())].clone();
                let words: Vec<&str> = lines[at].split(' ').collect();
                let word = random(words.len());
                let changed = match random(6) {
                    0 => String::new(),
                    1 => other,
                    2 => lines[at].chars().filter(|_| random(8) != 0).collect(),
                    3 => {
                        let digit = char::from(b'0' + random(10) as u8);
                        lines[at]
                            .chars()
                            .map(|c| {
                                if c.is_ascii_digit() && random(3) == 0 {
                                    digit
                                } else {
                                    c
                                }
                            })
                            .collect()
                    }
                    _ => {
                        let mut words: Vec<&str> = words.clone();
                        words[word] = pieces[random(pieces.len())];
                        words.join(" ")
                    }
                };
                lines[at] = changed;
            }
            let Ok(listing) = Listing::parse(&lines.join("\n")) else {
                refused += 1;
                continue;
            };
            for kernel in &listing.kernels {
                let Ok(program) = Program::new(&listing, Some(&kernel.name)) else {
                    refused += 1;
                    continue;
                };
                let mut memory = Memory::new();
                let address = memory
                    .add("x", &[0x3c; 1024])
                    .expect("a small buffer")
                    .to_le_bytes()
                    .to_vec();
                let launch = Launch {
                    workgroup: [96, 1, 1],
                    ..launch(vec![address; kernel.arguments.len()])
                };
                ran += usize::from(run(&program, &launch, &mut memory).is_ok());
            }
        }
    }
    assert!(
        ran > 500 && refused > 500,
        "{ran} ran, {refused} were refused"
    );
}

#[test]
fn source_files_may_have_a_checksum() {
    let text = include_str!("listings/twice.s");
    let start = text
        .find("\ttwice:")
        .or_else(|| text.find("twice:"))
        .expect("the code");
    let file =
        "\t.file\t7 \".\" \"twice.hip\" md5 0x4c3b08b48d22032862799a43d6b7ec27\n\t.loc\t7 42 1\n";
    let text = format!("{}{file}{}", &text[..start], &text[start..]);
    let listing = Listing::parse(&text).expect("a listing");
    let program = Program::new(&listing, None).expect("a program");
    let lines = 1..text.lines().count() as u32;
    let sources: Vec<String> = lines
        .filter_map(|line| program.source(line))
        .map(|source| format!("{}:{}", source.file, source.line))
        .collect();
    assert!(sources.contains(&"twice.hip:42".to_owned()), "{sources:?}");
}
