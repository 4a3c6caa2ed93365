//! A PostgreSQL server with a cluster of its own, on a socket in a private folder.

mod certificate;

use std::{
    fs,
    io::{self, BufRead, BufReader},
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::PathBuf,
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
    /// Environment variables of its processes.
    environment: Vec<(&'static str, PathBuf)>,
    /// The disk that has the cluster, if it has one of its own.
    disk: Option<SmallDisk>,
}

/// A disk with a fixed size, in a mount namespace of its own. It vanishes with the last process of the namespace.
struct SmallDisk {
    /// A process that has the namespace.
    holder: Child,
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

impl PostgresServer {
    /// Creates a cluster and starts its server.
    pub(crate) fn start() -> Self {
        let mut server = Self::create();
        server.restart();
        server
    }

    /// The same, with environment variables.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn start_with_environment(environment: Vec<(&'static str, PathBuf)>) -> Self {
        let mut server = Self::create();
        server.environment = environment;
        server.restart();
        server
    }

    /// The same, on a disk of this size. None if this host permits no mounts.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn start_on_disk(mebibytes: usize) -> Option<Self> {
        let mut server = Self::empty();
        let mut holder = Command::new("unshare")
            .args(["--mount", "sh", "-c"])
            .arg("mount -t tmpfs -o size=$2m,mode=777 none \"$1\" && echo mounted && exec sleep infinity")
            .arg("sh")
            .arg(server.folder.path().join("disk"))
            .arg(mebibytes.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is a part of Debian");
        let mut line = String::new();
        let stdout = holder.stdout.take().expect("is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        server.disk = Some(SmallDisk { holder });
        if read.is_err() || line != "mounted\n" {
            println!("this host permits no mounts: nothing is checked");
            return None;
        }
        server.initialize(&["--wal-segsize=1"]);
        server.restart();
        Some(server)
    }

    /// Starts a standby, for which each commit on this server waits from then on.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn start_standby(&self) -> Self {
        let mut standby = Self::empty();
        let copied = standby
            .program("pg_basebackup")
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
            .args(["--username=hipward", "--port", &self.port.to_string()])
            .arg("--host")
            .arg(self.folder.path())
            .arg("--pgdata")
            .arg(standby.data())
            .output()
            .expect("PostgreSQL is installed");
        assert!(copied.status.success(), "{copied:?}");
        standby.restart();
        // The cluster was copied before, so the standby itself waits for no other one.
        self.run_sql("alter system set synchronous_standby_names = '*'")
            .and_then(|()| self.run_sql("select pg_reload_conf()"))
            .expect("is set");
        standby
    }

    /// Turns a standby into a server that can be written.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn promote(&self) {
        self.run_sql("select pg_promote()").expect("is promoted");
    }

    /// The same database of this server and of its standby, whichever can be written.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn database_with(&self, standby: &PostgresServer, name: &str) -> String {
        let other = standby.folder.path().display();
        let url = self.database(name);
        format!("{url}&host={other}&target_session_attrs=read-write")
    }

    /// Fills the disk of this server and everything that becomes free on it, until the result is killed.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn fill_disk(&self) -> Child {
        self.on_disk("while :; do head -c 1M /dev/zero >> filler; sleep 0.02; done 2> /dev/null")
            .spawn()
            .expect("nsenter runs")
    }

    /// Removes what [`fill_disk`](Self::fill_disk) wrote. Starts the server again if it ended.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn free_disk(&mut self) {
        let freed = self.on_disk("rm filler").status();
        assert!(freed.expect("nsenter runs").success());
        self.await_answer();
    }

    /// A shell script in the folder of the disk.
    fn on_disk(&self, script: &str) -> Command {
        let disk = self.disk.as_ref().expect("it has a disk");
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &disk.holder.id().to_string(), "--mount", "--"])
            .args(["sh", "-c"])
            .arg(format!("cd \"$1\" && {{ {script}; }}"))
            .arg("sh")
            .arg(self.folder.path().join("disk"));
        command
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
        let server = Self::empty();
        server.initialize(&[]);
        server
    }

    /// A server without a cluster.
    fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disk = folder.path().join("disk");
        fs::create_dir(&disk).expect("a folder");
        for folder in [folder.path(), &disk] {
            if is_root() {
                chown(folder, Some(NOBODY), Some(NOBODY)).expect("root can change owners");
            }
            let private = fs::Permissions::from_mode(0o700);
            fs::set_permissions(folder, private).expect("it is ours");
        }
        PostgresServer {
            folder,
            server: None,
            port: 5432,
            settings: Vec::new(),
            environment: Vec::new(),
            disk: None,
        }
    }

    /// Creates its cluster.
    fn initialize(&self, arguments: &[&str]) {
        let created = self
            .program("initdb")
            .args(["--auth=trust", "--username=hipward", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C.UTF-8"])
            .args(arguments)
            .arg("--pgdata")
            .arg(self.data())
            .output()
            .expect("PostgreSQL is installed; `tools/setup test` does that");
        assert!(
            created.status.success(),
            "{}",
            String::from_utf8_lossy(&created.stderr)
        );
    }

    /// The folder of the cluster.
    fn data(&self) -> PathBuf {
        self.folder.path().join("disk/data")
    }

    /// Starts the server again after [`kill`](Self::kill).
    pub(crate) fn restart(&mut self) {
        self.server = Some(self.spawn());
        self.await_answer();
    }

    /// Waits until it answers. Starts it again if it ends.
    fn await_answer(&mut self) {
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
        self.program("postgres")
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(folder)
            .args(["-c", "listen_addresses=", "-c", "fsync=off"])
            .args(["-c", "max_connections=60", "-c", "shared_buffers=16MB"])
            .args(["-p", &self.port.to_string()])
            .args(self.settings.iter().flat_map(|setting| ["-c", setting]))
            .envs(self.environment.iter().cloned())
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

    /// A program of PostgreSQL, to run as a user who may, where the cluster is.
    fn program(&self, name: &str) -> Command {
        let program = find(name);
        let mut command = match &self.disk {
            // Only root can enter the namespace.
            Some(disk) => {
                let mut command = Command::new("nsenter");
                let user = NOBODY.to_string();
                command.args(["--target", &disk.holder.id().to_string(), "--mount", "--"]);
                command.args([
                    "setpriv",
                    "--reuid",
                    &user,
                    "--regid",
                    &user,
                    "--clear-groups",
                ]);
                command.arg(program);
                command
            }
            None => {
                let mut command = Command::new(program);
                if is_root() {
                    command.uid(NOBODY).gid(NOBODY);
                }
                command
            }
        };
        command.current_dir(self.folder.path());
        command
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
