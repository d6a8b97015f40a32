import type { RuleName } from '#relay/rules/index.js'

/** A public catalogue of requirements or risks, and the rules that meet or find them (docs/aisvs.md). */
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
  readonly rules: readonly RuleName[]
}

const taxon = (id: string, text: string, ...rules: readonly RuleName[]): Taxon => ({ id, text, rules })

const outputs = [
  'result/shape', 'result/missing', 'result/schema', 'result/format', 'result/unchecked', 'result/contract',
] as const
const hidden = ['tool/hidden-text', 'content/hidden-text'] as const

/** Requirements that no rule meets, but an option or the audit log, stand in docs/aisvs.md alone. */
export const taxonomies: readonly Taxonomy[] = [
  {
    name: 'OWASP AISVS', version: '1.0', uri: 'https://github.com/OWASP/AISVS', taxa: [
      taxon('9.1.1', 'quotas and timeouts of each tool', 'call/rate', 'result/size'),
      taxon('9.3.2', 'outputs of tools are validated against schemas', ...outputs, 'result/error-structured'),
      taxon('9.3.8', 'tools that break the policy are contained', 'tool/drift', 'call/unlisted'),
      taxon('9.5.1', 'a policy says which tools and arguments are allowed',
        'call/denied', 'call/unlisted', 'call/arguments'),
      taxon('9.5.3', 'a policy engine decides about access, and not the model', 'call/denied'),
      taxon('10.1.1', 'components are verified', 'tool/drift'),
      taxon('10.2.4', 'lists have only the tools that the client may use', 'call/denied'),
      taxon('10.2.5', 'access is checked at every call', 'call/denied', 'call/unlisted', 'call/arguments'),
      taxon('10.3.4', 'older revisions of the protocol are refused', 'wire/revision'),
      taxon('10.4.1', 'lists and results are validated before a model reads them',
        'tool/definition', 'tool/schema', 'tool/input-type', 'tool/external-ref', 'list/shape', ...outputs),
      taxon('10.4.2', 'lists and results are screened for injected prompts',
        ...hidden, 'tool/icon', 'content/uri'),
      taxon('10.4.3', 'unknown and oversized arguments are refused',
        'call/undeclared', 'call/arguments', 'wire/size'),
      taxon('10.4.4', 'schemas are enforced strictly',
        'wire/json-rpc', 'wire/ambiguous', 'tool/schema', 'tool/schema-cost', 'call/unchecked'),
      taxon('10.4.5', 'messages have a maximum size', 'wire/size', 'result/size'),
      taxon('10.4.8', 'a changed tool must be accepted again', 'tool/drift'),
      taxon('12.2.1', 'injected prompts are detected', ...hidden),
      taxon('12.2.2', 'excessive retries are noticed', 'call/rate'),
    ],
  },
  {
    name: 'OWASP MCP Top 10', version: '2025 (beta)', uri: 'https://owasp.org/www-project-mcp-top-10/',
    taxa: [
      taxon('MCP01:2025', 'Token Mismanagement & Secret Exposure', 'content/uri'),
      taxon('MCP02:2025', 'Privilege Escalation via Scope Creep',
        'call/denied', 'tool/annotations', 'tool/contradiction', 'tool/drift'),
      taxon('MCP03:2025', 'Tool Poisoning',
        'tool/drift', ...hidden, 'tool/duplicate', 'tool/annotations', 'tool/icon', 'result/schema'),
      taxon('MCP04:2025', 'Software Supply Chain Attacks & Dependency Tampering',
        'tool/drift', 'tool/external-ref'),
      taxon('MCP05:2025', 'Command Injection & Execution',
        'call/arguments', 'call/undeclared', 'content/uri'),
      taxon('MCP06:2025', 'Intent Flow Subversion',
        'content/hidden-text', 'server/request', 'server/sampling', 'server/elicitation'),
      taxon('MCP07:2025', 'Insufficient Authentication & Authorization',
        'call/denied', 'call/unlisted', 'server/unchecked'),
      taxon('MCP10:2025', 'Context Injection & Over-Sharing', 'wire/id', 'result/size', 'server/roots'),
    ],
  },
]
