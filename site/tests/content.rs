//! A mistake in a content folder is refused with its file, its line and what to do.

#![cfg(feature = "ssr")]

mod support;

use hipward_site::Content;
use support::{BLOCKS, FRONT_LINES, LESSON, folder};

#[test]
fn every_kind_of_block_is_read() {
    Content::parse(folder(BLOCKS)).expect("well-formed");
}

#[test]
fn a_mistake_names_its_line_and_what_to_do() {
    let cases = [
        (
            "\n```python file=gone.py\n```\n",
            2,
            "add it or correct the name",
        ),
        (
            "```python file=before.py anchor=two\n```\n",
            1,
            "# anchor: two",
        ),
        (
            "```python file=before.py\nx = 1\n```\n",
            1,
            "keep the lines or the attribute",
        ),
        (
            "```python fil=before.py\n```\n",
            1,
            "it takes file, anchor, before and after",
        ),
        (
            "```diff before=before.py\n```\n",
            1,
            "both before=… and after=…",
        ),
        (
            "```try\nfile = \"before.py\"\ntask = \"T\"\nno_findings = [\"no-such-rule\"]\n```\n",
            1,
            "no rule `no-such-rule`",
        ),
        (
            "```try\nfile = \"before.py\"\ntask = 1\nno_findings = []\n```\n",
            3,
            "expected a string",
        ),
        (
            "```try\nfile = \"before.py\"\ntask = \"T\"\nno_findings = [\"pynvml\"]\n```\n",
            1,
            "at least one condition",
        ),
        (
            "```try\nfile = \"before.py\"\ntask = \"T\"\n[[present]]\ntitle = \"T\"\nmessage = \"M\"\nmatch.pattern = \"f(\"\n```\n",
            1,
            "`present 1: match.pattern`",
        ),
        (
            "```claim\nverdict = \"wrong\"\n[claim]\ntext = \"T\"\nsource = \"S\"\n```\n",
            1,
            "needs a table `evidence`",
        ),
        (
            "```claim\nverdict = \"unmeasured\"\n[claim]\ntext = \"“T.” Or so.\"\nsource = \"S\"\n```\n",
            1,
            "quotation marks are for the source's own words",
        ),
        (
            "```quiz\nquestion = \"Q\"\n[[option]]\ntext = \"A\"\nwhy = \"W\"\n```\n",
            1,
            "correct = true",
        ),
        (
            "```bench\nfile = \"before.py\"\ntitle = \"T\"\nnote = \"S\"\nresults = [\"r2\"]\n```\n",
            1,
            "no row with the id `r2`",
        ),
        (
            "```predict\nquestion = \"Q\"\nanswer = 3\n```\n",
            1,
            "`answer`, a number, with `why`",
        ),
        (
            "```predict\nquestion = \"Q\"\nanswer = 3\nwhy = \"W\"\ntolerance = 2\n```\n",
            1,
            "`tolerance` from 0 to below 1",
        ),
        (
            "```predict\nquestion = \"Q\"\n[[option]]\ntext = \"A\"\nwhy = \"W\"\n```\n",
            1,
            "correct = true",
        ),
        (
            "```figure\nfile = \"gone.svg\"\ntitle = \"T\"\nconclusion = \"C\"\ncaption = \"C\"\n```\n",
            1,
            "no `gone.svg` beside the lesson",
        ),
        (
            "```figure\nfile = \"before.py\"\ntitle = \"T\"\nconclusion = \"C\"\ncaption = \"C\"\n```\n",
            1,
            "`before.py`: ",
        ),
        (
            "```figure\nfile = \"lanes.svg\"\ntitle = \"T\"\ncaption = \"C\"\n```\n",
            2,
            "missing field `conclusion`",
        ),
        (
            "```run\ncommand = \"python before.py\"\noutput = \"output.txt\"\nrecorded = \"\"\n```\n",
            1,
            "state in `recorded` when and where",
        ),
        (
            "```write\ndir = \"../mask\"\ntitle = \"T\"\ntask = \"T\"\nminutes = 5\n```\n",
            1,
            "use a-z, 0-9 and -",
        ),
        (
            "```write\ndir = \"gone\"\ntitle = \"T\"\ntask = \"T\"\nminutes = 5\n```\n",
            1,
            "no `gone/start.py` beside the lesson",
        ),
        (
            "```write\ndir = \"mask\"\ntitle = \"T\"\ntask = \"T\"\nminutes = 5\n```\n",
            1,
            "0 hints; write 3 [[hint]] tables",
        ),
        (
            "text\n\n$\\nosuchcommand$ and more\n",
            3,
            "literal dollar sign",
        ),
        ("text\n\n# Title\n", 3, "use `## …`"),
        ("text\n\n<div>no</div>\n", 3, "HTML is not passed through"),
        (
            "\n\n[x](/learn/port/nowhere/)\n",
            3,
            "`/learn/port/nowhere/`, which is no page",
        ),
    ];
    for (markdown, line, says) in cases {
        let errors = Content::parse(folder(markdown)).expect_err(markdown).0;
        let [error] = errors.as_slice() else {
            panic!("{markdown:?}: {errors:?}")
        };
        assert_eq!(
            (error.file.as_str(), error.line),
            (LESSON, FRONT_LINES + line),
            "{error}"
        );
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn a_mistake_in_the_folder_is_named_too() {
    let without = |path: &str| -> Vec<(String, String)> {
        folder("").into_iter().filter(|(p, _)| p != path).collect()
    };
    let with = |path: &str, text: &str| -> Vec<(String, String)> {
        let mut files = without(path);
        files.push((path.to_owned(), text.to_owned()));
        files
    };
    let front = "+++\ntitle = \"T\"\nsummary = \"S\"\nminutes = 3\ngoal = \"G\"\n";
    let cases = [
        (
            with(LESSON, "no front matter"),
            "01-port/01-first/lesson.md:1: the lesson has no front matter",
        ),
        (
            with(LESSON, "+++\ntitle = \"T\"\nhours = 3\n+++\n"),
            "01-port/01-first/lesson.md:3: unknown field `hours`",
        ),
        (
            with(
                LESSON,
                &format!("{front}prerequisites = [\"port/gone\"]\n+++\n"),
            ),
            "no lesson `port/gone`",
        ),
        (
            with(LESSON, &format!("{front}paths = [\"expert\"]\n+++\n")),
            "01-port/01-first/lesson.md:6: unknown variant `expert`, expected one of `newcomer`, `kernel`, `team`",
        ),
        (
            with(
                "01-port/part.toml",
                "title = \"P\"\nsummary = \"S\"\nkind = \"essay\"\n",
            ),
            "01-port/part.toml:3: unknown variant `essay`, expected one of `tutorial`, `how-to`, `explanation`",
        ),
        (
            with(
                "reference/glossary.toml",
                "title = \"G\"\nsummary = \"S\"\n[[term]]\nterm = \"LDS\"\ndefinition = \"D.\"\n[[term]]\nterm = \"lds\"\ndefinition = \"D.\"\n",
            ),
            "reference/glossary.toml:7: the glossary has `lds` twice",
        ),
        (
            with(
                "reference/glossary.toml",
                "title = \"G\"\nsummary = \"S\"\n[[term]]\nterm = \"LDS\"\ndefinition = \"D.\"\nlink = \"/nowhere/\"\n",
            ),
            "`/nowhere/`, which is no page",
        ),
        (
            without("01-port/part.toml"),
            "01-port/part.toml:1: the part has no part.toml",
        ),
        (
            with("01-port/02-first/lesson.md", &format!("{front}+++\n")),
            "`first` is taken",
        ),
        (
            with("01-port/second/lesson.md", &format!("{front}+++\n")),
            "the folder `second` has no number",
        ),
        (
            with("results.csv", "id,ms\nr1\n"),
            "results.csv:2: the row has 1 fields and the header 2",
        ),
    ];
    for (files, says) in cases {
        let error = Content::parse(files).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn an_exercise_needs_a_hole_and_a_case() {
    let block = "```write\ndir = \"mask\"\ntitle = \"T\"\ntask = \"T\"\nminutes = 5\n```\n";
    for (file, text, reason) in [
        ("start.py", "x = 1\n", "`mask/start.py` has no hole"),
        (
            "judge.py",
            "\"\"\"Judge.\"\"\"\n",
            "`mask/judge.py` has no case",
        ),
    ] {
        let path = format!("01-port/01-first/mask/{file}");
        let mut files = folder(block);
        files.retain(|(other, _)| *other != path);
        files.push((path, text.to_owned()));
        let error = Content::parse(files).expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn all_errors_of_a_folder_are_reported_and_the_rest_is_parsed() {
    let mut files = folder("# Title\n\n```diff before=before.py\n```\n\n[x](/reference/broken/)\n");
    files.push(("reference/broken.toml".to_owned(), "title =".to_owned()));
    files.push((
        "01-port/02-second/lesson.md".to_owned(),
        "no front matter".to_owned(),
    ));
    files.push(("results.csv".to_owned(), "id,ms\nr1\n".to_owned()));
    let errors = Content::parse(files).expect_err("four files have errors").0;
    let found: Vec<_> = errors
        .iter()
        .map(|error| (error.file.as_str(), error.line, error.page()))
        .collect();
    let first = "/learn/port/first/".to_owned();
    assert_eq!(
        found,
        [
            (LESSON, FRONT_LINES + 1, first.clone()),
            (LESSON, FRONT_LINES + 3, first),
            (
                "01-port/02-second/lesson.md",
                1,
                "/learn/port/second/".to_owned()
            ),
            ("reference/broken.toml", 1, "/reference/broken/".to_owned()),
            ("reference/broken.toml", 1, "/reference/broken/".to_owned()),
            ("results.csv", 2, "/learn/".to_owned()),
        ]
    );
}
