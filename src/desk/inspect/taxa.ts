import { isRuleName, type RuleName } from '#relay/rules/index.js'

/** A public catalogue of requirements or risks. docs/aisvs.md is made of it; SARIF names what rules meet. */
export interface Taxonomy {
  readonly name: string
  readonly version: string
  readonly uri: string
  readonly taxa: readonly Taxon[]
}

export interface Taxon {
  readonly id: string
  /** In our words. */
  readonly text: string
  /** What meets it, in Markdown. */
  readonly met: string
  /** The rules that `met` names. */
  readonly rules: readonly RuleName[]
  readonly tests: readonly string[]
}

const taxon = (id: string, text: string, met: string, ...tests: readonly string[]): Taxon => ({
  id, text, met, tests,
  rules: [...met.matchAll(/`([a-z]+\/[a-z-]+)`/g)].map(([, name = '']) => name).filter(isRuleName),
})

export const taxonomies: readonly Taxonomy[] = [
  {
    name: 'OWASP AISVS', version: '1.0', uri: 'https://github.com/OWASP/AISVS', taxa: [
      taxon('9.1.1', 'quotas and timeouts of each tool (part: calls, time and results)',
        '`callsPerMinute` (`call/rate`), `timeoutMs`, `resultBytes` (`result/size`) of ' +
          '[tools](configuration.md#tools)',
        'test/relay/core/limits.test.ts', 'test/e2e/limits.long.test.ts'),
      taxon('9.3.2', 'outputs of tools are validated against schemas',
        '`result/shape`, `result/missing`, `result/schema`, `result/format`, `result/unchecked`, ' +
          '`result/error-structured`, `result/contract`',
        'test/relay/rules/result.test.ts', 'test/e2e/rules.test.ts'),
      taxon('9.3.8', 'tools that break the policy are contained',
        '`tool/drift` and every other rule that blocks a definition: the tool leaves the list, and ' +
          'its calls are `call/unlisted`',
        'test/e2e/rules.test.ts', 'test/e2e/lock.long.test.ts'),
      taxon('9.5.1', 'a policy says which tools and arguments are allowed',
        '`allow`, `deny`, `clients` (`call/denied`), `call/unlisted`, `call/arguments` with `block`',
        'test/e2e/names.long.test.ts', 'test/relay/core/limits.test.ts'),
      taxon('9.5.3', 'a policy engine decides about access, and not the model',
        '`call/denied`: the relay decides by the configuration alone',
        'test/e2e/names.long.test.ts'),
      taxon('9.5.6', 'long sessions are judged by the current policy',
        'changes of the configuration hold [at once](configuration.md#changes-while-it-runs); ' +
          'scopes are those of each request',
        'test/e2e/serve.long.test.ts'),
      taxon('10.1.1', 'components are verified (part: where there is a digest)',
        'the identity in the [lock](lock.md#the-file) (`tool/drift`), `trust` with `sha256`, ' +
          '`install --pin`',
        'test/relay/lock/identity.test.ts', 'test/relay/config/trust.test.ts'),
      taxon('10.1.2', 'only servers of a list are permitted (part: those behind the relay)',
        '`serve --config` serves the servers of its file, and no other',
        'test/e2e/serve.long.test.ts'),
      taxon('10.2.1', 'tokens are checked at each request',
        '`auth`',
        'test/relay/auth/inward.test.ts', 'test/relay/transport/front/gate.test.ts'),
      taxon('10.2.2', 'issuer, audience, expiry and scopes of tokens are checked',
        '`auth.issuer`, `auth.audience`, `auth.scopes`',
        'test/relay/auth/inward.test.ts'),
      taxon('10.2.3', 'tokens are not stored (part: by the relay)',
        'records name the token or subject, never the token; secrets are left out of logs',
        'test/relay/audit/record.test.ts', 'test/relay/audit/redaction.test.ts'),
      taxon('10.2.4', 'lists have only the tools that the client may use',
        '`scopes` of tools; `clients` (`call/denied`)',
        'test/relay/auth/inward.test.ts', 'test/relay/core/limits.test.ts'),
      taxon('10.2.5', 'access is checked at every call (part: arguments by the schema)',
        '`scopes`, `call/denied`, `call/unlisted`, `call/arguments` with `block`',
        'test/relay/auth/inward.test.ts', 'test/e2e/names.long.test.ts'),
      taxon('10.2.7', 'tokens of clients are not passed on',
        'with `auth`, the `Authorization` header ends at the relay',
        'test/e2e/isolation.test.ts'),
      taxon('10.3.1', 'remote servers are reached with TLS (part: where you configure it)',
        '`tls`, `https` URLs',
        'test/relay/transport/front/tls.test.ts'),
      taxon('10.3.3', 'Origin and Host are checked',
        'always; `allowHosts`, `allowOrigins`',
        'test/relay/transport/front/gate.test.ts'),
      taxon('10.3.4', 'older revisions of the protocol are refused',
        '`minRevision` (`wire/revision`)',
        'test/relay/core/limits.test.ts', 'test/e2e/limits.long.test.ts'),
      taxon('10.4.1', 'lists and results are validated before a model reads them',
        '`tool/definition`, `tool/input-type`, `tool/schema`, `tool/external-ref`, `list/shape`, ' +
          '`result/shape`, `result/missing`, `result/schema`, `result/format`, `result/unchecked`, ' +
          '`result/contract`',
        'test/relay/rules/definition.test.ts',
        'test/relay/rules/result.test.ts',
        'test/e2e/rules.test.ts'),
      taxon('10.4.2',
        'lists and results are screened for injected prompts (part: hidden text and unsafe links)',
        '`tool/hidden-text`, `content/hidden-text`, `tool/icon`, `content/uri`; `title` and ' +
          '`description` of [tools](configuration.md#tools) replace a pushy text',
        'test/relay/rules/content.test.ts', 'test/e2e/names.long.test.ts'),
      taxon('10.4.3', 'unknown and oversized arguments are refused',
        '`call/undeclared` and `call/arguments` with `block`, `wire/size`',
        'test/relay/rules/call.test.ts', 'test/hostile/sizes.long.test.ts'),
      taxon('10.4.4', 'schemas are enforced strictly',
        '`wire/json-rpc`, `wire/ambiguous`, `tool/schema`, `tool/schema-cost`, `call/unchecked`',
        'test/relay/rules/wire.test.ts', 'test/relay/rules/tool.test.ts'),
      taxon('10.4.5', 'messages have a maximum size',
        '`limits.messageBytes` (`wire/size`), `resultBytes` (`result/size`)',
        'test/hostile/sizes.long.test.ts', 'test/relay/core/limits.test.ts'),
      taxon('10.4.8', 'a changed tool must be accepted again',
        '`lock` (`tool/drift`), `lock --accept TOOL --expect DIGEST`',
        'test/relay/core/accepted.test.ts', 'test/desk/lock/command.long.test.ts'),
      taxon('12.1.1', 'interactions are logged with their session',
        'the [audit log](audit.md)',
        'test/relay/audit/record.test.ts', 'test/e2e/promises.long.test.ts'),
      taxon('12.1.2', 'decisions are logged in detail',
        'every record has its verdict, findings and rules',
        'test/relay/audit/record.test.ts'),
      taxon('12.2.1', 'injected prompts are detected (part: hidden text)',
        '`tool/hidden-text`, `content/hidden-text`; metrics and alerts by [telemetry](telemetry.md)',
        'test/relay/rules/content.test.ts'),
      taxon('12.2.2', 'excessive retries are noticed (part)',
        '`call/rate`',
        'test/relay/core/call-rates.test.ts'),
      taxon('12.4.2',
        'records have actions with their arguments and outcome (part: who approved is in the client)',
        '`audit.payloads`, `audit.intent`, `subject` in records',
        'test/relay/audit/redaction.test.ts', 'test/relay/auth/inward.test.ts'),
    ],
  },
  {
    name: 'OWASP MCP Top 10', version: '2025 (beta)', uri: 'https://owasp.org/www-project-mcp-top-10/',
    taxa: [
      taxon('MCP01:2025', 'Token Mismanagement & Secret Exposure (part)',
        '`${env:NAME}`, `env` of one server only, redacted logs, `content/uri`',
        'test/e2e/isolation.test.ts', 'test/relay/audit/redaction.test.ts'),
      taxon('MCP02:2025', 'Privilege Escalation via Scope Creep',
        '`scopes`, `clients` and `deny` (`call/denied`), `tool/annotations`, `tool/contradiction`, ' +
          '`tool/drift`',
        'test/relay/auth/inward.test.ts', 'test/e2e/limits.long.test.ts'),
      taxon('MCP03:2025', 'Tool Poisoning (part)',
        '`tool/drift`, `tool/hidden-text`, `content/hidden-text`, `tool/duplicate`, ' +
          '`tool/annotations`, `tool/icon`, `result/schema`',
        'test/e2e/lock.long.test.ts', 'test/e2e/rules.test.ts'),
      taxon('MCP04:2025', 'Software Supply Chain Attacks & Dependency Tampering (part)',
        'the identity in the lock (`tool/drift`), `install --pin`, `tool/external-ref`',
        'test/relay/lock/identity.test.ts', 'test/desk/install/install.long.test.ts'),
      taxon('MCP05:2025', 'Command Injection & Execution (part: arguments)',
        '`call/arguments` and `call/undeclared` with `block`, `content/uri`; no shell reads a ' +
          'server\'s command',
        'test/relay/rules/call.test.ts'),
      taxon('MCP06:2025', 'Intent Flow Subversion (part)',
        '`content/hidden-text`, `server/request`, `server/sampling`, `server/elicitation`',
        'test/relay/rules/content.test.ts', 'test/relay/rules/server.test.ts'),
      taxon('MCP07:2025', 'Insufficient Authentication & Authorization',
        '`auth`, `scopes`, `call/denied`, `call/unlisted`, `server/unchecked`',
        'test/relay/auth/inward.test.ts', 'test/relay/transport/front/gate.test.ts'),
      taxon('MCP08:2025', 'Lack of Audit and Telemetry',
        'the [audit log](audit.md), [telemetry](telemetry.md)',
        'test/relay/audit/record.test.ts', 'test/relay/telemetry/observing.test.ts'),
      taxon('MCP09:2025', 'Shadow MCP Servers (part: servers in the files of clients)',
        '`install --check` names the servers of clients that no relay guards',
        'test/desk/install/install.long.test.ts'),
      taxon('MCP10:2025', 'Context Injection & Over-Sharing',
        'a session, its catalogue and its answers belong to one client (`wire/id`); `result/size`, ' +
          '`server/roots`',
        'test/relay/transport/front/credentials.test.ts', 'test/relay/core/requests.test.ts'),
    ],
  },
]
