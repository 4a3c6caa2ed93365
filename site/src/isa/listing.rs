//! A listing without what only the assembler reads, under the lines of the source that it came from. Pure.

use super::LineRange;
use crate::html::Html;

/// Lines that are shown; a listing that is longer is cut, and says so.
const MOST: usize = 4000;

/// The instructions of `assembly`. Each stretch of them follows the line of `source` that became it.
pub(super) fn listing(assembly: &str, lines: &[LineRange], source: &str) -> Html {
    let source: Vec<&str> = source.lines().collect();
    let mut html = Html::new();
    html.raw("<pre class=\"listing\" tabindex=\"0\"><code>");
    let mut ranges = lines.iter().peekable();
    let (mut shown, mut above) = (0, 0);
    for (number, text) in (1..).zip(assembly.lines()) {
        while ranges.next_if(|range| range.last < number).is_some() {}
        let Some((kind, code)) = instruction(text) else {
            continue;
        };
        if shown == MOST {
            html.raw("<span class=\"source\">The rest is left out here; the command line shows it with --asm.</span>\n");
            break;
        }
        shown += 1;
        let line = ranges
            .peek()
            .filter(|range| range.first <= number)
            .map_or(above, |range| range.source);
        if line != above {
            above = line;
            html.raw("<span class=\"source\">")
                .number(line)
                .raw("  ")
                .text(
                    source
                        .get(line.wrapping_sub(1))
                        .map_or("", |text| text.trim()),
                )
                .raw("</span>\n");
        }
        html.raw("<span class=\"")
            .raw(kind)
            .raw("\">")
            .text(code)
            .raw("</span>\n");
    }
    html.raw("</code></pre>");
    html
}

/// An instruction or a label without its comment, and what kind of work it is; nothing for directives.
fn instruction(text: &str) -> Option<(&'static str, &str)> {
    let code = text.split(';').next()?.trim_end();
    if let Some(label) = code.strip_suffix(':') {
        let is_local = label.starts_with(".L") && !label.starts_with(".LBB");
        return (!is_local && !label.is_empty()).then_some(("label", code));
    }
    let name = code.strip_prefix('\t')?;
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return None;
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let kind = if starts(&[
        "global_",
        "buffer_",
        "flat_",
        "scratch_",
        "s_load",
        "s_buffer_load",
    ]) {
        "memory"
    } else if starts(&["ds_"]) {
        "lds"
    } else if starts(&["v_mfma", "v_smfmac"]) {
        "matrix"
    } else if starts(&["s_waitcnt", "s_barrier", "s_nop"]) {
        "wait"
    } else {
        "plain"
    };
    Some((kind, code))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "\t.text\nadd:                  ; @add\n.Lfunc_begin0:\n\t.loc\t1 2 0\n\ts_load_dwordx2 s[0:1], s[2:3], 0x0\n\tglobal_load_dwordx4 v[0:3], v4, s[0:1] ; wide\n\t.loc\t1 3 0\n\tv_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], 0\n.LBB0_2:\n\ts_endpgm\n.Lfunc_end0:\n";

    #[test]
    fn instructions_stand_under_the_lines_they_came_from() {
        let ranges = [(5, 6, 2), (8, 8, 3)].map(|(first, last, source)| LineRange {
            first,
            last,
            source,
        });
        let html = listing(
            ASSEMBLY,
            &ranges,
            "def add():\n    x = load(a<b)\n    dot(x)\n",
        );
        let text = html.as_str();
        let order = [
            "label\">add:",
            "source\">2  x = load(a&lt;b)<",
            "memory\">\ts_load_dwordx2",
            "memory\">\tglobal_load_dwordx4 v[0:3], v4, s[0:1]<",
            "source\">3  dot(x)<",
            "matrix\">",
            "label\">.LBB0_2:",
            "plain\">\ts_endpgm",
        ];
        let places: Vec<_> = order.iter().map(|part| text.find(part)).collect();
        assert!(places.iter().all(Option::is_some), "{places:?} {text}");
        assert!(places.is_sorted(), "{places:?} {text}");
        for gone in [".loc", ".text", "func_begin", "wide"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
    }

    #[test]
    fn a_listing_without_debug_information_and_an_endless_one_are_shown() {
        assert!(listing(ASSEMBLY, &[], "").as_str().contains("s_endpgm"));
        let long = "\ts_nop 0\n".repeat(MOST + 1);
        assert!(
            listing(&long, &[], "")
                .as_str()
                .contains("The rest is left out")
        );
    }
}
