//! The listing of a kernel's machine code: instructions and labels without directives, under the source lines they were
//! generated from.

use super::answer::LineRange;
use leptos::prelude::*;

/// Maximum number of instructions shown. A longer listing is cut, with a note.
const MOST: usize = 4000;

/// The instructions of `assembly`. Each group of them follows the line of `source` it was generated from.
pub(super) fn listing(assembly: &str, lines: &[LineRange], source: &str) -> impl IntoView + use<> {
    let parts: Vec<_> = numbered_lines(assembly, lines, source)
        .into_iter()
        .map(|line| view! { <span class=line.class>{line.text}</span> })
        .collect();
    view! {
        <pre class="listing" tabindex="0"><code>{parts}</code></pre>
    }
}

/// A line that is shown.
pub(super) struct Line {
    pub(super) class: &'static str,
    /// Its number in the assembly; of a source line, the number of its first instruction.
    pub(super) number: usize,
    /// With its line feed.
    pub(super) text: String,
}

/// The lines that are shown.
pub(super) fn numbered_lines(assembly: &str, lines: &[LineRange], source: &str) -> Vec<Line> {
    let source: Vec<&str> = source.lines().collect();
    let mut listing = Vec::new();
    let mut push = |class, number, text| {
        listing.push(Line {
            class,
            number,
            text,
        });
    };
    let mut ranges = lines.iter().peekable();
    let (mut shown, mut above) = (0, 0);
    // The metadata after the kernels is YAML, whose keys look like labels.
    let code = assembly
        .lines()
        .take_while(|text| text.trim() != ".amdgpu_metadata");
    for (number, text) in (1..).zip(code) {
        while ranges.next_if(|range| range.last < number).is_some() {}
        let Some((kind, code)) = instruction(text) else {
            continue;
        };
        if shown == MOST {
            let rest = "The rest is left out here; the command line shows it with --asm.\n";
            push("source", number, rest.to_owned());
            break;
        }
        shown += 1;
        let line = ranges
            .peek()
            .filter(|range| range.first <= number)
            .map_or(above, |range| range.source);
        if line != above {
            above = line;
            let text = source
                .get(line.wrapping_sub(1))
                .map_or("", |text| text.trim());
            push("source", number, format!("{line}  {text}\n"));
        }
        push(kind, number, format!("{code}\n"));
    }
    listing
}

/// The kind of an instruction or a label, and its text without the comment; `None` for directives.
fn instruction(text: &str) -> Option<(&'static str, &str)> {
    let code = text.split(';').next()?.trim_end();
    if let Some(label) = code.strip_suffix(':') {
        let is_local = label.starts_with(".L") && !label.starts_with(".LBB");
        // The identifier of the compilation unit.
        let is_data = label.starts_with("__hip_cuid_");
        return (!is_local && !is_data && !label.is_empty()).then_some(("label", code));
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

    const ASSEMBLY: &str = "\t.text\nadd:                  ; @add\n.Lfunc_begin0:\n\t.loc\t1 2 0\n\ts_load_dwordx2 s[0:1], s[2:3], 0x0\n\tglobal_load_dwordx4 v[0:3], v4, s[0:1] ; wide\n\t.loc\t1 3 0\n\tv_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], 0\n.LBB0_2:\n\ts_endpgm\n.Lfunc_end0:\n__hip_cuid_:\n\t.byte 0\n\t.amdgpu_metadata\n---\namdhsa.kernels:\n  - .args:\n";

    #[test]
    fn instructions_follow_their_source_lines() {
        let ranges = [(5, 6, 2), (8, 8, 3)].map(|(first, last, source)| LineRange {
            first,
            last,
            source,
        });
        let source = "def add():\n    x = load(a<b)\n    dot(x)\n";
        let lines = numbered_lines(ASSEMBLY, &ranges, source);
        assert_eq!(
            lines[1].number, 5,
            "the first instruction of the source line"
        );
        let lines: Vec<(&str, &str)> = lines
            .iter()
            .map(|line| (line.class, line.text.as_str()))
            .collect();
        assert_eq!(
            lines,
            [
                ("label", "add:\n"),
                ("source", "2  x = load(a<b)\n"),
                ("memory", "\ts_load_dwordx2 s[0:1], s[2:3], 0x0\n"),
                ("memory", "\tglobal_load_dwordx4 v[0:3], v4, s[0:1]\n"),
                ("source", "3  dot(x)\n"),
                (
                    "matrix",
                    "\tv_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], 0\n"
                ),
                ("label", ".LBB0_2:\n"),
                ("plain", "\ts_endpgm\n"),
            ]
        );
    }

    #[test]
    fn listing_without_line_information_is_shown() {
        let lines = numbered_lines(ASSEMBLY, &[], "");
        assert!(lines.iter().any(|line| line.text == "\ts_endpgm\n"));
    }

    #[test]
    fn long_listing_is_cut_with_a_note() {
        let lines = numbered_lines(&"\ts_nop 0\n".repeat(MOST + 1), &[], "");
        assert_eq!(lines.len(), MOST + 1);
        assert!(lines[MOST].text.starts_with("The rest is left out"));
    }
}
