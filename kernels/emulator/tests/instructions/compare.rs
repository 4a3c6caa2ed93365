//! Each comparison (`v_cmp_*`), and those that also write EXEC (`v_cmpx_*`).

use crate::common::{numbers, vector};
use hipward_emulator::{Arch, supports};
use std::cmp::Ordering;

/// The comparisons, which every architecture has.
fn comparisons() -> impl Iterator<Item = &'static str> {
    let names = include_str!("../mnemonics.txt").lines();
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|name| name.starts_with("v_cmp") && supports(Arch::Gfx942, name))
}

pub(crate) fn codes() -> Vec<String> {
    comparisons().map(str::to_owned).collect()
}

/// A float of a type, exact.
fn float(kind: &str, bits: u64) -> f64 {
    match kind {
        "f16" => f64::from(hipward_emulator::from_f16(bits as u16)),
        "f32" => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The order of two operands; `None` if one of them is not a number.
fn order(kind: &str, a: u64, b: u64) -> Option<Ordering> {
    match kind {
        "i16" => Some((a as i16).cmp(&(b as i16))),
        "u16" => Some((a as u16).cmp(&(b as u16))),
        "i32" => Some((a as i32).cmp(&(b as i32))),
        "u32" => Some((a as u32).cmp(&(b as u32))),
        "i64" => Some((a as i64).cmp(&(b as i64))),
        "u64" => Some(a.cmp(&b)),
        _ => float(kind, a).partial_cmp(&float(kind, b)),
    }
}

fn is_true(condition: &str, order: Option<Ordering>) -> bool {
    let is = |expected: &[Ordering]| order.is_some_and(|order| expected.contains(&order));
    use Ordering::{Equal, Greater, Less};
    match condition {
        "f" => false,
        "t" | "tru" => true,
        "lt" => is(&[Less]),
        "eq" => is(&[Equal]),
        "le" => is(&[Less, Equal]),
        "gt" => is(&[Greater]),
        "ge" => is(&[Greater, Equal]),
        "lg" => is(&[Less, Greater]),
        "ne" | "neq" => !is(&[Equal]),
        "o" => order.is_some(),
        "u" => order.is_none(),
        "nge" => !is(&[Greater, Equal]),
        "nlg" => !is(&[Less, Greater]),
        "ngt" => !is(&[Greater]),
        "nle" => !is(&[Less, Equal]),
        "nlt" => !is(&[Less]),
        _ => panic!("the condition {condition}"),
    }
}

/// Whether a number is in a class of the mask, from the lowest bit: signaling and quiet NaN, then from minus infinity to
/// infinity.
fn is_of_class(kind: &str, bits: u64, mask: u64) -> bool {
    let value = float(kind, bits);
    let (smallest, quiet) = match kind {
        "f16" => (2f64.powi(-14), 9),
        "f32" => (2f64.powi(-126), 22),
        _ => (f64::MIN_POSITIVE, 51),
    };
    let side = |class: u32| {
        if value.is_sign_negative() {
            5 - class
        } else {
            6 + class
        }
    };
    let class = if value.is_nan() {
        (bits >> quiet & 1) as u32
    } else if value == 0.0 {
        side(0)
    } else if value.abs() < smallest {
        side(1)
    } else if value.is_finite() {
        side(2)
    } else {
        side(3)
    };
    mask >> class & 1 == 1
}

#[test]
fn comparisons_have_the_results_of_the_host() {
    let all = numbers(128, 13);
    let rows: Vec<[u64; 3]> = (0..64)
        .map(|at| {
            [
                all[at],
                if at % 3 == 0 {
                    all[at]
                } else {
                    all[(at * 5 + 1) % 128]
                },
                0,
            ]
        })
        .collect();
    for name in comparisons() {
        let writes_exec = name.starts_with("v_cmpx_");
        let rest = name
            .trim_start_matches("v_cmpx_")
            .trim_start_matches("v_cmp_");
        let (condition, kind) = rest.rsplit_once('_').expect("a type");
        let wide = kind.ends_with("64");
        let register = |first: usize, wide: bool| {
            if wide {
                format!("v[{first}:{}]", first + 1)
            } else {
                format!("v{first}")
            }
        };
        let second = register(4, wide && condition != "class");
        let code = format!(
            "{name}_e64 s[6:7], {}, {second}
             s_mov_b64 s[8:9], exec
             s_mov_b64 exec, -1
             v_cndmask_b32_e64 v8, 0, 1, s[6:7]
             v_cndmask_b32_e64 v9, 0, 1, s[8:9]",
            register(2, wide)
        );
        for (row, actual) in rows.iter().zip(vector("gfx942", &code, &rows)) {
            let [a, b, _] = *row;
            let wanted = if condition == "class" {
                is_of_class(kind, a, b)
            } else {
                is_true(condition, order(kind, a, b))
            };
            let exec = if writes_exec { u64::from(wanted) } else { 1 };
            assert_eq!(
                actual,
                u64::from(wanted) | exec << 32,
                "{name} of {a:#x} and {b:#x}"
            );
        }
    }
}
