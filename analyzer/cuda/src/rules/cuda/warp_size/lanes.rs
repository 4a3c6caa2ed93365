//! Expressions that compute the number of a lane or warp with 32 or 31.

use crate::Source;

/// A lane or warp number computed from the thread index, or a number of warps computed from any value.
/// Returns its first token.
pub(super) fn lane(source: &Source<'_>, number: u32) -> Option<u32> {
    let takes_rest = matches!(source.before(number, 1), "%" | "&");
    // An upper limit for the length of an expression; keeps the time for a text of numbers linear.
    let first = number.saturating_sub(32);
    let mut from_thread = false;
    for at in (first..number).rev() {
        match source.token_text(at) {
            ";" | "{" | "}" | "?" => break,
            "=" => {
                let name = at.wrapping_sub(1);
                let compares = matches!(source.token_text(name), "=" | "!" | "<" | ">")
                    || source.token_text(at + 1) == "=";
                let lower = source.token_text(name).to_ascii_lowercase();
                let is_lane = if takes_rest {
                    from_thread && lower.contains("lane")
                } else {
                    lower.contains("warp") || (from_thread && lower == "wid")
                };
                if !compares && is_lane {
                    return Some(name);
                }
                break;
            }
            word => from_thread |= means_thread(word),
        }
    }
    // `if (threadIdx.x % 32 == 0)`: the first lane of each warp.
    let compared = [number + 1, number + 2].iter().any(|at| {
        source.reads(*at, &["=", "=", "0"])
            && matches!(source.before(*at, 1), ")" | "32" | "31" | "0x1f")
    });
    if takes_rest && is_lane_bit(source, number) {
        return Some(number.saturating_sub(2));
    }
    let begin = number.saturating_sub(4);
    (takes_rest && compared && source.reads(begin, &["threadIdx", ".", "x"])).then_some(begin)
}

/// `__popc(ballot & ((1u << (threadIdx.x & 31)) - 1))`: the bit of a lane in a mask. In a set of bits, whose words are
/// numbered with `/ 32` or `>> 5`, any number is right.
fn is_lane_bit(source: &Source<'_>, number: u32) -> bool {
    /// An upper limit for the tokens of a statement before and after the number.
    const MAX: u32 = 40;
    let operator = number.saturating_sub(1);
    let open = (number.saturating_sub(6)..operator)
        .rev()
        .find(|at| source.token_text(*at) == "(");
    let Some(open) = open.filter(|open| {
        let operand = *open + 1..operator;
        let is_thread = operand.clone().any(|at| {
            means_thread(source.token_text(at)) || source.token_text(at).contains("lane")
        });
        is_thread
            && source.token_text(number + 1) == ")"
            && source.before(*open, 1) == "<"
            && source.before(*open, 2) == "<"
            && source
                .before(*open, 3)
                .trim_end_matches(['u', 'U', 'l', 'L'])
                == "1"
    }) else {
        return false;
    };
    let ends = |at: &u32| !matches!(source.token_text(*at), ";" | "{" | "}" | "");
    let statement = (open.saturating_sub(MAX)..open)
        .rev()
        .take_while(ends)
        .chain((open..open + MAX).take_while(ends));
    let (mut has_mask, mut is_set) = (false, false);
    for at in statement {
        let text = source.token_text(at);
        let lower = text.to_ascii_lowercase();
        has_mask |= ["ballot", "mask", "popc", "ffs", "shfl"]
            .iter()
            .any(|part| lower.contains(part));
        is_set |= (text == "32" && source.before(at, 1) == "/")
            || (text == "5" && source.before(at, 1) == ">");
    }
    has_mask && !is_set
}

pub(super) fn means_thread(word: &str) -> bool {
    matches!(
        word,
        "threadIdx"
            | "tid"
            | "tidx"
            | "thread_id"
            | "threadId"
            | "thread_idx"
            | "threadid"
            | "tx"
            | "thread_rank"
            | "tid_in_block"
    )
}
