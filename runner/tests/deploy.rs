//! The files in `runner/deploy/`, and those that the how-to shows: their options exist, and the tools of each format accept them, as far
//! as this machine has them.

#[path = "support/certificate.rs"]
mod certificate;
mod support;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use support::hipward;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

fn text(file: &str) -> String {
    fs::read_to_string(folder().join(file)).expect("readable")
}

/// Runs a program. None if this machine does not have it.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<Output> {
    let directories = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&directories)
        .chain(["/usr/sbin".into()])
        .map(|directory| directory.join(program))
        .find(|path| path.exists());
    let Some(path) = found else {
        eprintln!("{program} is not installed");
        return None;
    };
    let output = Command::new(path)
        .args(arguments)
        .current_dir(folder)
        .output();
    Some(output.expect("runs"))
}

fn assert_accepted(what: &str, output: Option<Output>) {
    if let Some(output) = output {
        assert!(output.status.success(), "{what}: {output:?}");
    }
}

#[test]
fn options_in_deployment_files_exist() {
    let server = [
        "systemd/hipward.service",
        "compose.yaml",
        "kubernetes/server.yaml",
    ];
    let worker = [
        "systemd/hipward-worker.service",
        "kubernetes/worker.yaml",
        "slurm/worker.sbatch",
    ];
    for (command, files) in [("serve", server), ("worker", worker)] {
        let help = hipward().args([command, "--help"]).output().expect("runs");
        let help = String::from_utf8(help.stdout).expect("text");
        for file in files {
            let text = text(file);
            assert!(text.contains("hipward"), "{file}");
            let lines = text
                .lines()
                .filter(|line| !line.trim_start().starts_with('#') && !line.contains("pg_isready"));
            let words = lines.flat_map(|line| line.split([' ', '"', ',', '[', ']']));
            for option in words.filter(|word| word.starts_with("--") && *word != "---") {
                assert!(
                    help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")),
                    "{file}: {option}"
                );
            }
        }
    }
}

/// The first block of code in a language in the how-to for a team's server.
fn of_the_how_to(language: &str) -> String {
    let lesson = folder().join("../../content/07-how-to/09-share-gpu-host/lesson.md");
    let lesson = fs::read_to_string(lesson).expect("readable");
    let (_, block) = lesson
        .split_once(&format!("```{language}\n"))
        .expect("has such a block");
    let (block, _) = block.split_once("```").expect("ends");
    block.to_owned()
}

#[test]
fn systemd_accepts_the_units() {
    let scratch = tempfile::tempdir().expect("a folder");
    let program = hipward().get_program().to_string_lossy().into_owned();
    for (unit, text) in [
        ("hipward.service", text("systemd/hipward.service")),
        (
            "hipward-worker.service",
            text("systemd/hipward-worker.service"),
        ),
        ("hipward-how-to.service", of_the_how_to("ini")),
    ] {
        assert!(text.contains("ExecStart=/usr/local/bin/hipward "));
        // Jobs have less isolation without it.
        assert!(text.contains("\nDelegate=memory pids\n"), "{unit}");
        // Systemd checks that the program exists.
        let text = text.replace("/usr/local/bin/hipward", &program);
        fs::write(scratch.path().join(unit), text).expect("is ours");
        let path = scratch.path().join(unit);
        let arguments = ["verify", "--man=no", &path.display().to_string()];
        assert_accepted(unit, run("systemd-analyze", &arguments, scratch.path()));
    }
}

#[test]
fn nginx_accepts_the_site() {
    for (name, site) in [
        ("nginx.conf", text("nginx.conf")),
        ("the how-to", of_the_how_to("nginx")),
    ] {
        let scratch = tempfile::tempdir().expect("a folder");
        let path = |name: &str| scratch.path().join(name).display().to_string();
        certificate::create(scratch.path(), "hipward.example");
        let site = site
            .replace("/etc/ssl/hipward.pem", &path("certificate.pem"))
            .replace("/etc/ssl/private/hipward.key", &path("key.pem"));
        fs::write(path("site"), site).expect("is ours");
        // Else nginx creates folders of the system.
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};\n", path(kind)))
            .concat();
        let whole = format!(
            "pid {};\nerror_log stderr;\nevents {{}}\nhttp {{ access_log off;\n{temporary}include {}; }}\n",
            path("pid"),
            path("site")
        );
        fs::write(path("nginx.conf"), whole).expect("is ours");
        let arguments = [
            "-e",
            "stderr",
            "-t",
            "-p",
            &path(""),
            "-c",
            &path("nginx.conf"),
        ];
        assert_accepted(name, run("nginx", &arguments, scratch.path()));
    }
}

#[test]
fn shell_accepts_the_batch_script() {
    let script = "slurm/worker.sbatch";
    assert_accepted(script, run("bash", &["-n", script], &folder()));
    assert_accepted(script, run("shellcheck", &[script], &folder()));
}

/// Parses the YAML files. Compares the manifests with the schemas of Kubernetes if `kubernetes-validate` is installed.
#[test]
fn manifests_are_valid() {
    const CHECK: &str = "
import glob, importlib.util, sys
if importlib.util.find_spec('yaml') is None:
    sys.exit('no yaml')
import yaml
kinds = []
for name in sorted(glob.glob('kubernetes/*.yaml')):
    with open(name, encoding='utf-8') as file:
        for manifest in yaml.safe_load_all(file):
            kinds.append(manifest['kind'])
            if importlib.util.find_spec('kubernetes_validate') is not None:
                import kubernetes_validate
                kubernetes_validate.validate(manifest, '1.30', strict=True)
assert kinds == ['Deployment', 'Service', 'Deployment', 'Job'], kinds
with open('compose.yaml', encoding='utf-8') as file:
    services = yaml.safe_load(file)['services']
assert list(services) == ['database', 'server'], services
for service in services.values():
    assert {'image', 'restart', 'environment', 'volumes'} <= set(service), service
";
    let python = env::var("HIPWARD_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python)
        .args(["-c", CHECK])
        .current_dir(folder())
        .output();
    let output = output.expect("runs");
    if String::from_utf8_lossy(&output.stderr).trim() == "no yaml" {
        eprintln!("PyYAML is not installed");
        return;
    }
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
