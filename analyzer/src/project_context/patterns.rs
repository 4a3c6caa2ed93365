//! Source paths in build files: `csrc/x.cu`, `${CMAKE_CURRENT_SOURCE_DIR}/x.cu`, `csrc/*.cu`, `.cu`.

/// The end of a path, with `*` for any text within one part of it.
#[derive(Clone, Debug)]
pub(super) struct Pattern(String);

/// Sources that a compiler accepts directly; headers are included by these.
const SOURCES: [&str; 5] = [".cu", ".cpp", ".cc", ".cxx", ".c"];

/// True for a source that a build has to name.
pub(super) fn is_source(path: &str) -> bool {
    SOURCES.iter().any(|ending| path.ends_with(ending))
}

impl Pattern {
    /// The pattern in `text`, if it names one or more sources.
    pub(super) fn of(text: &str) -> Option<Pattern> {
        if !is_source(text) || text.len() > 400 || text.contains(char::is_whitespace) {
            return None;
        }
        // A variable or `**` may represent several parent folders.
        let known = ["}/", ")/", "**/", "./"]
            .iter()
            .filter_map(|mark| text.rfind(mark).map(|at| at + mark.len()))
            .max()
            .unwrap_or_default();
        let known = text.get(known..)?.trim_start_matches('/');
        // `name.endswith(".cu")`, a Makefile's `%.cu`, `$(name).cu`
        let known = match known.rfind([')', '}']) {
            Some(at) => format!("*{}", known.get(at + 1..)?),
            None => known.replace('%', "*"),
        };
        Some(Pattern(match known.strip_prefix('.') {
            Some(_) => format!("*{known}"),
            None => known,
        }))
    }

    /// The path, if it names one source.
    pub(super) fn path(&self) -> Option<&str> {
        (!self.0.contains('*')).then_some(&*self.0)
    }

    /// Whether it has a part of the name, unlike `*.cu`.
    pub(super) fn has_stem(&self) -> bool {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        !name.starts_with("*.")
    }

    /// `*.cu`
    pub(super) fn is_device_code(&self) -> bool {
        self.0.ends_with(".cu")
    }

    /// Whether it is the path of the source at `path`, or of device code in a folder around the header there.
    pub(super) fn is_path_of(&self, path: &str) -> bool {
        if is_source(path) {
            return self.0 == path;
        }
        let folder = self.0.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.is_device_code()
            && !folder.is_empty()
            && path
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether it names the file at `path`, by the last parts of the path.
    pub(super) fn fits(&self, path: &str) -> bool {
        let mut parts = path.rsplit('/');
        self.0
            .rsplit('/')
            .all(|wanted| parts.next().is_some_and(|part| matches(wanted, part)))
    }
}

/// `*_kernel.cu` and `a_kernel.cu`.
fn matches(wanted: &str, part: &str) -> bool {
    let Some((start, rest)) = wanted.split_once('*') else {
        return wanted == part;
    };
    let Some(mut left) = part.strip_prefix(start) else {
        return false;
    };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return left.ends_with(piece);
        }
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_found_by_path_suffix() {
        let fits = |pattern, path| Pattern::of(pattern).is_some_and(|pattern| pattern.fits(path));
        for (pattern, path) in [
            ("csrc/x.cu", "csrc/x.cu"),
            ("x.cu", "csrc/x.cu"),
            ("./csrc/x.cu", "csrc/x.cu"),
            ("${CMAKE_CURRENT_SOURCE_DIR}/x.cu", "x.cu"),
            ("$(SRC)/x.cu", "src/x.cu"),
            ("csrc/*.cu", "csrc/x.cu"),
            ("csrc/**/*.cu", "csrc/deep/er/x.cu"),
            (".cu", "csrc/x.cu"),
            ("%.cu", "x.cu"),
            ("*_sm*_a.cu", "csrc/x_sm90_a.cu"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("csrc/x.cu", "tests/x.cu"),
            ("x.cu", "csrc/xx.cu"),
            ("csrc/*.cu", "csrc/x.cpp"),
            ("csrc/*.cu", "x.cu"),
            ("the file x.cu", "x.cu"),
            ("csrc", "csrc/x.cu"),
            ("*_a*_a.cu", "x_a.cu"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }
}
