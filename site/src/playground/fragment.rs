//! The part of the address after `#`: what to load into the playground. Browsers never send it
//! to a server. Pure.

use hipward_analyzer_core::{Arch, Language, Target, Version};

/// Content that the fragment of an address makes the playground load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fragment {
    /// A packed text: deflated, base64url.
    pub(crate) code: Option<String>,
    /// A text as it is.
    pub(crate) text: Option<String>,
    /// A task, in a sentence.
    pub(crate) task: Option<String>,
    /// The task's conditions, as JSON; the analyzer reads them.
    pub(crate) exercise: Option<String>,
    /// The lesson of the task: `port/device-abstraction`.
    pub(crate) lesson: Option<String>,
    /// Target of the analysis.
    pub(crate) target: Option<Target>,
    /// How to read the text.
    pub(crate) language: Option<Language>,
}

impl Fragment {
    /// Reads what stands after `#`. What it does not know it leaves out.
    pub(crate) fn parse(fragment: &str) -> Self {
        let mut read = Fragment::default();
        for pair in fragment.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value);
            match key {
                "code" => read.code = Some(value),
                "text" => read.text = Some(value),
                "task" => read.task = Some(value),
                "exercise" => read.exercise = Some(value),
                "lesson" if is_lesson(&value) => read.lesson = Some(value),
                "language" => read.language = Language::of_name(&value),
                "target" => read.target = parse_target(&value),
                _ => {}
            }
        }
        read
    }
}

/// Whether a text is the name of a lesson. A link may come from anywhere, so nothing else becomes an address.
fn is_lesson(text: &str) -> bool {
    let is_word = |word: &str| {
        let mut bytes = word.bytes();
        !word.is_empty()
            && bytes.all(|byte| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    matches!(text.split_once('/'), Some((part, lesson)) if is_word(part) && is_word(lesson))
}

/// The fragment of a share link.
pub(crate) fn share_fragment(packed: &str, target: &Target, language: Option<Language>) -> String {
    let mut fragment = format!("code={packed}&target={}", write_target(target));
    push_language(&mut fragment, language.unwrap_or(Language::Python));
    fragment
}

/// Python is what a text is read as where nothing is said.
fn push_language(fragment: &mut String, language: Language) {
    if language != Language::Python {
        fragment.push_str("&language=");
        fragment.push_str(language.name());
    }
}

/// The exercise of a lesson, for a link to it.
#[cfg(feature = "ssr")]
pub(crate) struct ExerciseLink<'a> {
    /// The task, in a sentence.
    pub(crate) task: &'a str,
    /// Its conditions, as JSON.
    pub(crate) conditions: &'a str,
    /// The lesson: `port/device-abstraction`.
    pub(crate) lesson: &'a str,
}

/// The fragment of a link from a page: a text, and an exercise if it is the start of one.
#[cfg(feature = "ssr")]
pub(crate) fn lesson_fragment(
    text: &str,
    language: Language,
    exercise: Option<ExerciseLink<'_>>,
) -> String {
    let mut fragment = format!("text={}", encode(text));
    push_language(&mut fragment, language);
    if let Some(exercise) = exercise {
        let (task, conditions) = (encode(exercise.task), encode(exercise.conditions));
        let lesson = exercise.lesson;
        fragment.push_str(&format!(
            "&task={task}&exercise={conditions}&lesson={lesson}"
        ));
    }
    fragment
}

/// `gfx942,7.1,2.11,3.12`.
pub(super) fn write_target(target: &Target) -> String {
    format!(
        "{},{},{},{}",
        target.arch.name(),
        target.rocm,
        target.torch,
        target.python
    )
}

fn parse_target(text: &str) -> Option<Target> {
    let mut words = text.split(',');
    let name = words.next()?;
    let arch = Arch::ALL.into_iter().find(|arch| arch.name() == name)?;
    let mut version = || Version::try_from(words.next()?.to_owned()).ok();
    Some(Target {
        arch,
        rocm: version()?,
        torch: version()?,
        python: version()?,
    })
}

/// Percent-encoding of everything but letters, digits and `-._~`.
#[cfg(feature = "ssr")]
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte as char);
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The reverse; a `%` that is followed by no two hexadecimal digits stays what it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn a_task_survives_the_address() {
        let text = "x = \"é 漢 🎉 & = # % + \"\n";
        let exercise =
            r#"{"no_findings":["pynvml"],"present":[{"match":{"pattern":"x = $X & 1"}}]}"#;
        let fragment = lesson_fragment(
            text,
            Language::Python,
            Some(ExerciseLink {
                task: "Use `amdsmi`, 100 %.",
                conditions: exercise,
                lesson: "port/vendor-libraries",
            }),
        );
        assert!(!fragment.contains([' ', '"', '#']), "{fragment}");
        let read = Fragment::parse(&fragment);
        assert_eq!(read.text.as_deref(), Some(text));
        assert_eq!(read.task.as_deref(), Some("Use `amdsmi`, 100 %."));
        assert_eq!(read.exercise.as_deref(), Some(exercise));
        assert_eq!(read.lesson.as_deref(), Some("port/vendor-libraries"));
    }

    #[test]
    fn only_the_name_of_a_lesson_becomes_an_address() {
        for text in [
            "https://elsewhere.example/",
            "../../x",
            "port",
            "port/",
            "a/b/c",
            "//x",
            "a/B",
        ] {
            let read = Fragment::parse(&format!("lesson={text}"));
            assert_eq!(read.lesson, None, "{text}");
        }
    }

    #[test]
    fn a_share_link_keeps_the_target() {
        let target = Target {
            arch: Arch::Gfx950,
            rocm: Version::new(7, 0),
            torch: Version::new(2, 9),
            python: Version::new(3, 11),
        };
        let language = Some(Language::CudaCpp);
        let read = Fragment::parse(&share_fragment("q1YqSS0uAQA", &target, language));
        assert_eq!(read.code.as_deref(), Some("q1YqSS0uAQA"));
        assert_eq!(read.target, Some(target));
        assert_eq!(read.language, language);
    }

    #[test]
    fn nonsense_is_left_out() {
        let read = Fragment::parse("target=rtx4090,1,2&text=100%&x&%zz=1");
        assert_eq!(read.target, None);
        assert_eq!(read.text.as_deref(), Some("100%"));
    }
}
