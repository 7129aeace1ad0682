"""The language server: diagnostics, hovers and completions over the Language Server Protocol."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from .columns import Columns
from .completions import completions
from .diagnostics import EditorDiagnostic, diagnostics
from .documents import EditorText
from .hovers import hover

__all__ = ["language_server"]

_GRAVE = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "information": lsp.DiagnosticSeverity.Information,
    "hint": lsp.DiagnosticSeverity.Hint,
}


def language_server(version: str) -> LanguageServer:
    """A server with all that an editor may ask."""
    server = LanguageServer("ptxmma", version)

    def text_of(uri: str) -> EditorText:
        name = PurePosixPath(unquote(urlparse(uri).path)).name
        return EditorText(name, server.workspace.get_text_document(uri).source)

    def columns(text: EditorText) -> Columns:
        return Columns(server.workspace.position_codec, text.lines)

    def publish(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        text = text_of(uri)
        written = columns(text)
        found = [_diagnostic(one, written) for one in diagnostics(text)]
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, document.version))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        text, line = text_of(params.text_document.uri), params.position.line
        written = columns(text)
        word = text.mnemonic_at(line, written.character(params.position))
        said = hover(word.text.rstrip(".")) if word else None
        if said is None or word is None:
            return None
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, said)
        return lsp.Hover(content, written.range(line, word.begin, word.end))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
    def completed(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document = text_of(params.text_document.uri)
        at = columns(document).character(params.position)
        word = document.mnemonic_at(params.position.line, at)
        written = word.text[: at - word.begin] if word else ""
        if "." not in written:
            return []
        words = completions(written, *document.heads)
        keyword = lsp.CompletionItemKind.Keyword
        # Editors order by their own alphabet, unless they are told.
        return [
            lsp.CompletionItem(one, kind=keyword, sort_text=f"{place:04}") for place, one in enumerate(words)
        ]

    return server


def _diagnostic(one: EditorDiagnostic, columns: Columns) -> lsp.Diagnostic:
    span = columns.range(one.line, one.begin, one.end)
    about = lsp.CodeDescription(one.address) if one.address else None
    return lsp.Diagnostic(span, one.message, _GRAVE[one.grave], one.code, about, "ptxmma")
