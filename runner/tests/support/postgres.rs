//! A PostgreSQL server with a cluster of its own, on a socket in a private folder.

mod certificate;

use std::{
    fs, io,
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Timeout of its start, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// PostgreSQL refuses to run as root, so tests that do run it as this user.
const NOBODY: u32 = 65_534;

/// A running server. It ends with its drop.
pub(crate) struct PostgresServer {
    folder: TempDir,
    server: Option<Child>,
    /// The number in the name of its socket, and the TCP port of a server with TLS.
    port: u16,
    /// Settings besides those of every server.
    settings: Vec<String>,
}

impl PostgresServer {
    /// Creates a cluster and starts its server.
    pub(crate) fn start() -> Self {
        let mut server = Self::create();
        server.restart();
        server
    }

    /// The same, with a certificate for `localhost` that it has signed itself.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn start_with_tls() -> Self {
        let mut server = Self::create();
        certificate::create(server.folder.path(), "localhost");
        let key = server.folder.path().join("key.pem");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("it is ours");
        if is_root() {
            chown(&key, Some(NOBODY), Some(NOBODY)).expect("root can change owners");
        }
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        server.port = free.expect("a port is free").port();
        let file = |name: &str| server.folder.path().join(name).display().to_string();
        server.settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", file("certificate.pem")),
            format!("ssl_key_file={}", file("key.pem")),
        ];
        server.restart();
        server
    }

    /// The certificate of a server with TLS.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// The address of a new, empty database of a server with TLS.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn encrypted_database(&self, name: &str) -> String {
        self.database(name);
        format!(
            "postgres://hipward@localhost:{}/{name}?sslmode=require",
            self.port
        )
    }

    fn create() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("root can change owners");
        }
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder.path(), private).expect("it is ours");
        let created = program("initdb", folder.path())
            .args(["--auth=trust", "--username=hipward", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C.UTF-8"])
            .arg("--pgdata")
            .arg(folder.path().join("data"))
            .output()
            .expect("PostgreSQL is installed; `tools/setup test` does that");
        assert!(
            created.status.success(),
            "{}",
            String::from_utf8_lossy(&created.stderr)
        );
        PostgresServer {
            folder,
            server: None,
            port: 5432,
            settings: Vec::new(),
        }
    }

    /// Starts the server again after [`kill`](Self::kill).
    pub(crate) fn restart(&mut self) {
        self.server = Some(self.spawn());
        let begin = Instant::now();
        while self.run_sql("select 1").is_err() {
            assert!(begin.elapsed() < PATIENCE, "{}", self.log());
            sleep(Duration::from_millis(50));
            // The processes of a server that was killed may still have its memory.
            let ended = self.server.as_mut().map(Child::try_wait);
            if matches!(ended, Some(Ok(Some(_)))) {
                self.server = Some(self.spawn());
            }
        }
    }

    fn spawn(&self) -> Child {
        let folder = self.folder.path();
        let log = fs::File::create(folder.join("log")).expect("a log");
        program("postgres", folder)
            .arg("-D")
            .arg(folder.join("data"))
            .arg("-k")
            .arg(folder)
            .args(["-c", "listen_addresses=", "-c", "fsync=off"])
            .args(["-c", "max_connections=60", "-c", "shared_buffers=16MB"])
            .args(["-p", &self.port.to_string()])
            .args(self.settings.iter().flat_map(|setting| ["-c", setting]))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("postgres starts")
    }

    /// Ends the server and all of its connections at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        let pid = self.server.as_ref().map(Child::id);
        let pid = pid.expect("it runs").to_string();
        // Each connection is a process.
        let _ = Command::new("pkill").args(["-KILL", "-P", &pid]).status();
        self.end("-KILL");
    }

    /// The address of a new, empty database.
    pub(crate) fn database(&self, name: &str) -> String {
        self.run_sql(&format!("create database {name}"))
            .expect("it is created");
        let folder = self.folder.path().display();
        format!(
            "postgres:///{name}?user=hipward&host={folder}&port={}",
            self.port
        )
    }

    /// Runs a statement in the database `postgres`.
    fn run_sql(&self, statement: &str) -> io::Result<()> {
        let ran = Command::new("psql")
            .args(["--no-psqlrc", "--quiet", "--username=hipward"])
            .args(["--port", &self.port.to_string()])
            .args(["--dbname=postgres", "--command", statement, "--host"])
            .arg(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        match ran.success() {
            true => Ok(()),
            false => Err(io::Error::other("psql failed")),
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn end(&mut self, signal: &str) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        let _ = Command::new("kill")
            .args([signal, &server.id().to_string()])
            .status();
        let _ = server.wait();
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Closes connections at once and leaves no process.
        self.end("-QUIT");
    }
}

/// A program of PostgreSQL, to run as a user who may.
fn program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(find(name));
    command.current_dir(folder);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Debian installs these programs outside of `PATH`.
fn find(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql");
    let mut found: Vec<PathBuf> = versions
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin").join(name))
        .filter(|program| program.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc exists").uid() == 0
}
