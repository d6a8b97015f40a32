import { errorCode } from '#relay/protocol/json-rpc.js'

/** What an error of the relay means to the person who sees it. Commands stand between backquotes. */
export interface CodeText {
  readonly title: string
  readonly means: string
  readonly fault: string
  readonly next: readonly string[]
  readonly example: string
}

const look = '`mcp-customs audit show --verdict block --last 5` shows what was blocked, and which rule did it'

/** For each code of `errorCode`. Those below -32000 are of JSON-RPC and MCP: servers send them too. */
export const codeTexts: ReadonlyMap<number, CodeText> = new Map([
  [errorCode.blocked, {
    title: 'blocked, or not started',
    means: 'mcp-customs stopped this message because a rule says so, or could not use the response; at ' +
      '`initialize` it did not start the server.',
    fault: 'the message names the rule, or the place; `mcp-customs explain RULE` says whose mistake that is',
    next: [look, 'At `initialize`: do what the message says, and restart the client'],
    example: 'Blocked by mcp-customs: wire/ambiguous at /result: the key "content" stands here twice',
  }],
  [errorCode.gone, {
    title: 'the server is gone, or cannot be reached',
    means: 'The server did not respond because its process ended, its stream was cut, it refused the ' +
      'connection, or nobody has logged in.',
    fault: 'the server, the network, or a login that is missing',
    next: [
      'Run the server\'s own command, the words behind `--` in the client\'s entry, and read what it prints',
      'For a remote server that asks for a login: `mcp-customs login URL`',
      'Restart the client, where its server has ended',
    ],
    example: 'the server has ended (exit code 1)',
  }],
  [errorCode.late, {
    title: 'no response in time',
    means: 'The server did not respond within `timeoutMs` of the tool, or `limits.requestMs`. The call may ' +
      'have run.',
    fault: 'the server, or a limit that is too short',
    next: ['Raise `timeoutMs` of the tool, `limits.requestMs`, or `--request-timeout`'],
    example: 'the server did not answer within 20000 ms',
  }],
  [errorCode.parse, {
    title: 'not JSON',
    means: 'A message could not be read as JSON.',
    fault: 'the program that sent it',
    next: ['`mcp-customs explain wire/json` says what is often wrong', look],
    example: 'a body that is not what its Content-Encoding says',
  }],
  [errorCode.invalidRequest, {
    title: 'not a valid request',
    means: 'A request is not one that MCP allows, or came without a session.',
    fault: 'the client, or the server where it asks the client',
    next: ['Begin a new session with `initialize`', look],
    example: 'The Mcp-Session-Id header is missing: a session begins with initialize',
  }],
  [errorCode.methodNotFound, {
    title: 'no such method',
    means: 'The receiver does not know the method, or the server asked for what the client did not declare.',
    fault: 'whoever asked',
    next: ['`mcp-customs explain server/request` is about requests of servers'],
    example: 'a server asks for sampling, which the client did not declare',
  }],
  [errorCode.invalidParams, {
    title: 'unknown tool, or wrong parameters',
    means: 'The tool is not in the list: the server does not offer it, or mcp-customs withholds it. Or the ' +
      'revision of the protocol is older than `minRevision` allows.',
    fault: 'the message says why',
    next: [
      '`mcp-customs tools` shows which tools clients get, which are missing, and why',
      'Restart the client if it knows an old list of tools',
    ],
    example: 'Unknown tool: price; mcp-customs withholds it: tool/schema at /inputSchema/type: …',
  }],
  [errorCode.headerMismatch, {
    title: 'HTTP headers contradict the body',
    means: '`Mcp-Method`, `Mcp-Name`, `MCP-Protocol-Version` or an `Mcp-Param-…` header says something ' +
      'else than the message.',
    fault: 'the client',
    next: ['Update the client', look],
    example: 'Mcp-Name: search, and "name":"delete" in the body',
  }],
  [errorCode.unsupportedVersion, {
    title: 'this revision of MCP is not supported',
    means: 'The other side does not speak the revision, or `minRevision` of your configuration excludes it.',
    fault: 'the program that is older, or the configuration',
    next: ['Update the client or the server', 'Allow older revisions with `minRevision`'],
    example: '{"supported":["2026-07-28"],"requested":"2025-03-26"}',
  }],
])
