//! The invariants for any text in any language. The fuzz targets (analyzer/fuzz) and the tests call it.

use hipward_analyzer::{Applicability, Language, Options, Report, analyze, apply_fixes, fix_all};

/// Analyzes and fixes `source`, and panics if an invariant of the analyzer is violated.
pub fn judge(source: &str, language: Language) {
    let options = {
        let mut options = Options::default();
        options.language = Some(language);
        options
    };
    let report = analyze(source, &options);
    for finding in &report.findings {
        let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
        for span in std::iter::once(finding.span).chain(edits.map(|edit| edit.span)) {
            let range = span.start.byte as usize..span.end.byte as usize;
            assert!(
                source.get(range).is_some(),
                "{span:?} is outside of the text"
            );
        }
    }
    for index in 0..report.findings.len() {
        apply_fixes(source, &report, &[index]);
    }
    let fixed = fix_all(source, &options, Applicability::Safe);
    let after = analyze(&fixed.source, &options);
    assert!(
        reads_as_well(&report, &after),
        "safe fixes broke the text:\n{}",
        fixed.source
    );
    let again = fix_all(&fixed.source, &options, Applicability::Safe);
    assert_eq!(
        again.applied, 0,
        "one pass did not apply all fixes:\n{}",
        fixed.source
    );
}

/// True if there are no additional notes.
fn reads_as_well(before: &Report, after: &Report) -> bool {
    after
        .notes
        .iter()
        .all(|note| before.notes.iter().any(|old| old.code == note.code))
}
