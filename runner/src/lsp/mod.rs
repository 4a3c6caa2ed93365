//! The language server: an editor's documents in, diagnostics, quick fixes and rule pages out.
//!
//! One thread, one loop: a document is judged when the editor pauses, so that fast typing is judged once.

mod answers;
mod document;
mod frames;
mod text;
mod uri;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, DidChangeTextDocumentParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams, HoverParams,
    InitializeResult, MessageType, PositionEncodingKind, PublishDiagnosticsParams,
    ServerCapabilities, ServerInfo, ShowMessageParams, TextDocumentContentChangeEvent,
    TextDocumentSyncKind, TextDocumentSyncOptions, Uri,
};
use hipward_analyzer::{Options, Report, analyze};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::commands::check::Baselines;
use crate::config::{Overrides, Projects, is_configuration};
use answers::{Asked, FIX_ALL};
use document::Document;
use text::Encoding;

/// What ends the server: the editor went away, or speaks no protocol that we know.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Changes that follow each other faster are judged as one. Nobody sees diagnostics come this much later, and what an
/// editor wrote in one go is read within it.
const PAUSE: Duration = Duration::from_millis(20);

/// What the server is told when it starts.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) overrides: Overrides,
    /// The site whose rule pages diagnostics link to; ends with a slash.
    pub(crate) site: String,
}

/// Serves an editor on standard input and output until it says goodbye.
pub(crate) fn serve(settings: Settings) -> Result<()> {
    let (connection, threads) = frames::connect();
    let (id, params) = connection.initialize_start()?;
    let client = Client::new(&params);
    let result = serde_json::to_value(initialize_result(client.encoding))?;
    connection.initialize_finish(id, result)?;
    let site = params
        .pointer("/initializationOptions/site")
        .and_then(Value::as_str)
        .map(|site| format!("{}/", site.trim_end_matches('/')));
    let mut server = Server {
        connection,
        client,
        projects: Projects::new(settings.overrides),
        baselines: Baselines::default(),
        site: site.unwrap_or(settings.site),
        documents: HashMap::new(),
        unjudged: BTreeSet::new(),
        told: HashSet::new(),
    };
    server.watch_configuration()?;
    server.run()?;
    // The writing thread ends when nobody can send to it any more.
    drop(server);
    threads.join()?;
    Ok(())
}

fn initialize_result(encoding: Encoding) -> InitializeResult {
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(match encoding {
                Encoding::Utf8 => PositionEncodingKind::UTF8,
                Encoding::Utf16 => PositionEncodingKind::UTF16,
            }),
            text_document_sync: Some(
                TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::Incremental),
                    save: Some(true.into()),
                    ..TextDocumentSyncOptions::default()
                }
                .into(),
            ),
            code_action_provider: Some(
                CodeActionOptions {
                    code_action_kinds: Some(vec![
                        CodeActionKind::QuickFix,
                        CodeActionKind::new(FIX_ALL),
                    ]),
                    ..CodeActionOptions::default()
                }
                .into(),
            ),
            hover_provider: Some(true.into()),
            ..ServerCapabilities::default()
        },
        server_info: Some(ServerInfo {
            name: "hipward".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    }
}

/// What the client can do.
struct Client {
    encoding: Encoding,
    /// It says when watched files change, once it is asked to.
    watches_files: bool,
    /// Edits may name the version of the document that they are for.
    versioned_edits: bool,
}

impl Client {
    fn new(params: &Value) -> Client {
        let can = |path: &str| {
            let capability = params.pointer(&format!("/capabilities/{path}"));
            capability.cloned().unwrap_or_default()
        };
        let encodings = can("general/positionEncodings");
        let knows_utf8 = encodings
            .as_array()
            .is_some_and(|encodings| encodings.iter().any(|encoding| encoding == "utf-8"));
        Client {
            // Bytes need no counting; UTF-16 is what every client speaks.
            encoding: if knows_utf8 {
                Encoding::Utf8
            } else {
                Encoding::Utf16
            },
            watches_files: can("workspace/didChangeWatchedFiles/dynamicRegistration") == true,
            versioned_edits: can("workspace/workspaceEdit/documentChanges") == true,
        }
    }
}

struct Server {
    connection: Connection,
    client: Client,
    projects: Projects,
    baselines: Baselines,
    site: String,
    /// By URI.
    documents: HashMap<String, Document>,
    /// Documents that changed since their diagnostics were published.
    unjudged: BTreeSet<String>,
    /// Complaints that were shown: each once, not at every keystroke.
    told: HashSet<String>,
}

impl Server {
    fn run(&mut self) -> Result<()> {
        loop {
            let message = if self.unjudged.is_empty() {
                match self.connection.receiver.recv() {
                    Ok(message) => message,
                    Err(_) => return Ok(()),
                }
            } else {
                match self.connection.receiver.recv_timeout(PAUSE) {
                    Ok(message) => message,
                    Err(error) if error.is_timeout() => {
                        self.publish()?;
                        continue;
                    }
                    Err(_) => return Ok(()),
                }
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    self.answer(request)?;
                }
                Message::Notification(notification) => self.hear(notification)?,
                // Only the registration was asked for, and without it changes are heard at the next save.
                Message::Response(_) => {}
            }
        }
    }

    fn hear(&mut self, notification: Notification) -> Result<()> {
        let Notification { method, params } = notification;
        match method.as_str() {
            "textDocument/didOpen" => {
                let Some(params) = read::<DidOpenTextDocumentParams>(&method, params) else {
                    return Ok(());
                };
                let item = params.text_document;
                let language = item.language_id.to_string();
                let document = Document::new(&item.uri.0, &language, item.version, item.text);
                self.documents.insert(item.uri.0.clone(), document);
                self.unjudged.insert(item.uri.0);
            }
            "textDocument/didChange" => {
                let Some(change) = read::<DidChangeTextDocumentParams>(&method, params) else {
                    return Ok(());
                };
                let uri = change.text_document.text_document_identifier.uri.0;
                if let Some(document) = self.documents.get_mut(&uri) {
                    for change in change.content_changes {
                        match change {
                            TextDocumentContentChangeEvent::TextDocumentContentChangePartial(
                                part,
                            ) => document.replace(part.range, &part.text, self.client.encoding),
                            TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(
                                whole,
                            ) => document.set_text(whole.text),
                        }
                    }
                    document.version = change.text_document.version;
                    self.unjudged.insert(uri);
                }
            }
            "textDocument/didClose" => {
                let Some(params) = read::<DidCloseTextDocumentParams>(&method, params) else {
                    return Ok(());
                };
                let uri = params.text_document.uri;
                self.documents.remove(&uri.0);
                self.unjudged.remove(&uri.0);
                self.notify(
                    "textDocument/publishDiagnostics",
                    PublishDiagnosticsParams {
                        uri,
                        version: None,
                        diagnostics: Vec::new(),
                    },
                )?;
            }
            "textDocument/didSave" => {
                let saved = read::<DidSaveTextDocumentParams>(&method, params);
                let path = saved.and_then(|saved| uri::path(&saved.text_document.uri.0));
                if path.is_some_and(|path| is_configuration(&path)) {
                    self.reload();
                }
            }
            "workspace/didChangeWatchedFiles" => self.reload(),
            _ => {}
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) -> Result<()> {
        let Request { id, method, params } = request;
        match method.as_str() {
            "textDocument/hover" => {
                let Some(params) = self.read_or_refuse::<HoverParams>(&id, params)? else {
                    return Ok(());
                };
                let place = params.text_document_position_params;
                let asked = self.asked(&place.text_document.uri)?;
                let hover = asked.and_then(|asked| asked.hover(place.position));
                self.respond(id, hover)
            }
            "textDocument/codeAction" => {
                let Some(params) = self.read_or_refuse::<CodeActionParams>(&id, params)? else {
                    return Ok(());
                };
                let versioned = self.client.versioned_edits;
                let asked = self.asked(&params.text_document.uri)?;
                let only = params.context.only;
                let actions =
                    asked.map(|asked| asked.actions(params.range, only.as_deref(), versioned));
                self.respond(id, actions.unwrap_or_default())
            }
            _ => self.refuse(
                id,
                ErrorCode::MethodNotFound,
                format!("{method} is not answered"),
            ),
        }
    }

    /// A document with its report, for a question about it.
    fn asked<'s>(&'s mut self, uri: &'s Uri) -> Result<Option<Asked<'s>>> {
        self.judge(&uri.0)?;
        let Server {
            documents,
            client,
            site,
            ..
        } = self;
        let document = documents.get(&uri.0);
        Ok(document.and_then(|document| {
            let (report, options) = document.judged()?;
            Some(Asked {
                uri,
                document,
                report,
                options,
                encoding: client.encoding,
                site,
            })
        }))
    }

    /// Makes a document's report, if it has none of its present text.
    fn judge(&mut self, uri: &str) -> Result<()> {
        let Some(document) = self.documents.get(uri) else {
            return Ok(());
        };
        if !document.is_unjudged() {
            return Ok(());
        }
        let (judged, complaint) = self.report(document);
        if let Some(document) = self.documents.get_mut(uri) {
            document.set_judged(judged);
        }
        match complaint {
            Some(complaint) if self.told.insert(complaint.clone()) => self.notify(
                "window/showMessage",
                ShowMessageParams {
                    kind: MessageType::Error,
                    message: format!("Hipward: {complaint}"),
                },
            ),
            _ => Ok(()),
        }
    }

    /// The report of a document that we read, and what is wrong with its configuration.
    fn report(&self, document: &Document) -> (Option<(Report, Options)>, Option<String>) {
        let Some(language) = document.language else {
            return (None, None);
        };
        let path = document.path.as_deref().unwrap_or(Path::new("untitled"));
        let project = match self.projects.of_file(path) {
            Ok(project) => project,
            Err(error) => return (None, Some(error.to_string())),
        };
        let options = project.options(path, Some(language));
        if project.excludes(path, false) {
            return (None, None);
        }
        let mut report = analyze(&document.text, &options);
        let mut complaint = None;
        if let Some(baseline) = &project.baseline {
            match self.baselines.load(baseline) {
                Ok(baseline) => drop(baseline.forget(path, &document.text, &mut report)),
                Err(error) => complaint = Some(error),
            }
        }
        (Some((report, options)), complaint)
    }

    /// Judges what changed and sends the diagnostics.
    fn publish(&mut self) -> Result<()> {
        for uri in std::mem::take(&mut self.unjudged) {
            let uri = Uri::from(uri);
            let diagnostics = self.asked(&uri)?.map(|asked| asked.diagnostics());
            let version = self.documents.get(&uri.0).map(|document| document.version);
            self.notify(
                "textDocument/publishDiagnostics",
                PublishDiagnosticsParams {
                    uri,
                    version,
                    diagnostics: diagnostics.unwrap_or_default(),
                },
            )?;
        }
        Ok(())
    }

    /// A configuration file may have changed: everything is judged again.
    fn reload(&mut self) {
        self.projects.reload();
        self.baselines = Baselines::default();
        self.told.clear();
        for (uri, document) in &mut self.documents {
            document.forget_judged();
            self.unjudged.insert(uri.clone());
        }
    }

    fn watch_configuration(&self) -> Result<()> {
        if !self.client.watches_files {
            return Ok(());
        }
        let watchers: Vec<_> = ["**/*.toml", "**/setup.py"]
            .iter()
            .map(|pattern| json!({ "globPattern": pattern }))
            .collect();
        let registration = json!({
            "id": "hipward-configuration",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": { "watchers": watchers },
        });
        let request = Request::new(
            "hipward-configuration".to_owned().into(),
            "client/registerCapability".to_owned(),
            json!({ "registrations": [registration] }),
        );
        Ok(self.connection.sender.send(request.into())?)
    }

    fn notify(&self, method: &str, params: impl Serialize) -> Result<()> {
        let notification = Notification::new(method.to_owned(), params);
        Ok(self.connection.sender.send(notification.into())?)
    }

    fn respond(&self, id: RequestId, result: impl Serialize) -> Result<()> {
        Ok(self
            .connection
            .sender
            .send(Response::new_ok(id, result).into())?)
    }

    fn refuse(&self, id: RequestId, code: ErrorCode, message: String) -> Result<()> {
        let response = Response::new_err(id, code as i32, message);
        Ok(self.connection.sender.send(response.into())?)
    }

    /// The parameters of a request; a refusal is sent where they do not read.
    fn read_or_refuse<T: DeserializeOwned>(
        &self,
        id: &RequestId,
        params: Value,
    ) -> Result<Option<T>> {
        match serde_json::from_value(params) {
            Ok(params) => Ok(Some(params)),
            Err(error) => {
                self.refuse(id.clone(), ErrorCode::InvalidParams, error.to_string())?;
                Ok(None)
            }
        }
    }
}

/// The parameters of a notification, which nobody can be told to mend: a bad one is left, and the log says so.
fn read<T: DeserializeOwned>(method: &str, params: Value) -> Option<T> {
    serde_json::from_value(params)
        .inspect_err(|error| eprintln!("hipward lsp: {method}: {error}"))
        .ok()
}
