//! The capabilities of the client and of this server, exchanged by `initialize`.

use super::{responses::FIX_ALL, text::Encoding};
use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, InitializeResult, PositionEncodingKind, ServerCapabilities,
    ServerInfo, TextDocumentSyncKind, TextDocumentSyncOptions,
};
use serde_json::Value;

/// The response to `initialize`: the capabilities of this server.
pub(super) fn initialize_result(encoding: Encoding) -> InitializeResult {
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

/// Capabilities of the client.
pub(super) struct Client {
    pub(super) encoding: Encoding,
    /// Supports the registration of watched files.
    pub(super) watches_files: bool,
    /// Supports edits with a document version.
    pub(super) versioned_edits: bool,
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub(super) fn new(params: &Value) -> Client {
        let can = |path: &str| {
            let capability = params.pointer(&format!("/capabilities/{path}"));
            capability.cloned().unwrap_or_default()
        };
        let encodings = can("general/positionEncodings");
        let knows_utf8 = encodings
            .as_array()
            .is_some_and(|encodings| encodings.iter().any(|encoding| encoding == "utf-8"));
        Client {
            // UTF-8 positions need no conversion. Every client supports UTF-16.
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
