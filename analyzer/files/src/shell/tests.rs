//! Which commands, variables and programs a script has.

use super::*;

/// The commands on each line, with a `?` before guarded ones.
fn commands(source: &str) -> Vec<String> {
    let mut facts = Facts::default();
    read(Text::whole(source), &mut facts);
    facts
        .commands
        .iter()
        .map(|command| {
            let words: Vec<_> = command.words.iter().map(|word| word.as_str()).collect();
            format!(
                "{}{}",
                if command.guarded { "?" } else { "" },
                words.join(" ")
            )
        })
        .collect()
}

fn values(source: &str) -> Vec<(&str, &str)> {
    let mut facts = Facts::default();
    read(Text::whole(source), &mut facts);
    facts
        .settings
        .iter()
        .map(|setting| (setting.key.as_str(), &source[setting.value.range()]))
        .collect()
}

#[test]
fn commands_end_at_shell_operators() {
    assert_eq!(
        commands("a 'b c' \"d;e\" \\\n f; g|h && i 2>/dev/null >x\n(j) # k\nl#m"),
        ["a b c d;e f", "g", "h", "i", "j", "l#m"]
    );
    assert_eq!(commands("a <<EOF b\nc\nEOF\nd"), ["a b", "d"]);
    assert_eq!(commands("a \\\n# between\n  b"), ["a b"]);
}

#[test]
fn nested_commands_are_found() {
    assert_eq!(
        commands("n=$(nvidia-smi -L | wc -l)\necho \"`nvcc -V`\"\nbash -c 'x y'"),
        [
            "echo `nvcc -V`",
            "bash -c x y",
            "x y",
            "nvcc -V",
            "nvidia-smi -L",
            "wc -l"
        ]
    );
}

#[test]
fn vendor_checks_guard_commands() {
    assert_eq!(
        commands("if command -v nvidia-smi; then\n a\nelse b; fi\nc"),
        ["?command -v nvidia-smi", "?a", "?b", "c"]
    );
    assert_eq!(
        commands("case $x in\n cuda) a ;;\n cpu) b ;;\nesac\nc"),
        ["?a", "b", "c"]
    );
    assert_eq!(commands("install_cuda() {\n a\n}\nb() { c; }"), ["?a", "c"]);
    assert_eq!(
        commands("which nvcc && a\nb | c || true"),
        ["which nvcc", "?a", "?b", "?c", "true"]
    );
    assert_eq!(
        commands("grep torch cuda.txt >x && a\nb << parameters.c >> d\ne"),
        ["grep torch cuda.txt", "a", "b", "e"]
    );
    assert_eq!(
        commands("A=1 srun -N 2 --overlap -l a -b\nsetup_cuda() { c; }\nsetup_cuda"),
        ["a -b", "c", "setup_cuda"]
    );
}

#[test]
fn python_programs_count_unless_the_script_handles_their_failure() {
    let source = "python -c 'import a' 2> /tmp/log\nx=$(python3 -c 'import b' 2>/dev/null)\n\
                  if python -c 'import c'; then d; fi\npython -c 'import e' >/dev/null\npython -c 'import f' || g";
    let mut facts = Facts::default();
    read(Text::whole(source), &mut facts);
    let programs = facts.python.iter().map(|program| program.as_str());
    assert_eq!(programs.collect::<Vec<_>>(), ["import a", "import e"]);
}

#[test]
fn variables_are_set_before_a_command_and_by_export() {
    assert_eq!(
        values("A=1 B='x y' run C=3\nexport D=\"4\" E\nF=5\ndocker run -e G=6 image"),
        [("A", "1"), ("B", "x y"), ("D", "4"), ("F", "5"), ("G", "6")]
    );
}

#[test]
fn pathological_scripts_are_parsed_in_linear_time() {
    for piece in [
        "$(",
        "`",
        "\"",
        "'",
        "${",
        "<<a\n",
        "if ",
        "case x in ",
        "\\",
        "((",
        "é\\é",
    ] {
        commands(&piece.repeat(200_000));
    }
}
