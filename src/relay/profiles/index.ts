import { combined, type NameRules, type Profile, type SchemaRules } from './profile.js'

/** The keywords that combine schemas, which many clients refuse at the root. */
const combinators = ['anyOf', 'oneOf', 'allOf'] as const
const conditions = ['not', 'if', 'then', 'else'] as const

/** Names of tools and of arguments as most model APIs have them. */
const usualNames: NameRules = { characters: 'A-Za-z0-9_-', longest: 64 }
const usualArguments = /^[a-zA-Z0-9_.-]{1,64}$/

const claudeApi = {
  name: 'claude-api', title: 'Claude API and Claude Code',
  version: 'Messages API 2023-06-01, Claude Code 2.1', date: '2026-11-25',
  sources: [
    'https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools',
    'https://github.com/anthropics/claude-code/issues/40075',
    'https://github.com/anthropics/claude-code/issues/79418',
    'https://github.com/anthropics/claude-code/issues/95504',
  ],
  clients: ['claude-code'], losesList: true, toolName: usualNames,
  input: { notAtRoot: combinators, propertyName: usualArguments },
} satisfies Profile

/**
 * The SDK's validator knows these dialects. Its types demand that the schemas of properties are objects,
 * not booleans.
 */
const sdkRules: SchemaRules = {
  dialects: ['draft-06', 'draft-07', '2019-09', '2020-12'], noBooleans: true, needsType: true,
}

/** The validator of the beta knows no other dialect. */
const betaRules: SchemaRules = { ...sdkRules, dialects: ['2020-12'] }

/** Every profile, in the order of the documentation. */
export const profiles: readonly Profile[] = [
  {
    name: 'claude-desktop', title: 'Claude Desktop', version: 'of September 2026', date: '2026-11-25',
    sources: [
      'https://github.com/anthropics/claude-code/issues/86142',
      'https://github.com/anthropics/claude-code/issues/88882',
      'https://github.com/anthropics/claude-code/issues/90549',
      ...claudeApi.sources,
    ],
    clients: ['claude-ai'], losesList: false, toolName: usualNames,
    input: { ...claudeApi.input, dialects: ['2020-12'] }, output: { dialects: ['2020-12'] },
  },
  claudeApi,
  {
    name: 'openai-strict', title: 'OpenAI API, strict mode',
    version: 'Structured Outputs, openai 7.57.0', date: '2026-11-25',
    sources: [
      'https://platform.openai.com/docs/guides/structured-outputs#supported-schemas',
      'https://platform.openai.com/docs/guides/function-calling#strict-mode',
      'https://github.com/openai/openai-node/blob/master/src/lib/transform.ts',
    ],
    clients: [], losesList: true, tools: 128, toolName: usualNames,
    input: {
      keywords: [
        'type', 'title', 'description', 'enum', 'properties', 'required', 'additionalProperties', 'items',
        'anyOf', '$ref', '$defs', 'pattern', 'format', 'multipleOf', 'minimum', 'maximum',
        'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems',
      ],
      notAtRoot: combinators,
      formats: ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
      noBooleans: true, requiredIsDeclared: true, needsItems: true, needsProperties: true, isStrict: true,
      depth: 10, properties: 5000, enumValues: 1000, characters: 120_000, longEnum: 15_000,
    },
  },
  {
    name: 'gemini', title: 'Gemini API and Gemini CLI',
    version: 'API v1beta, @google/genai 3.3.0', date: '2026-11-25',
    sources: [
      'https://ai.google.dev/api/caching#Schema',
      'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema',
      'https://github.com/wonderwhy-er/DesktopCommanderMCP/issues/79',
      'https://github.com/google-gemini/gemini-cli/issues/22210',
    ],
    clients: ['gemini-cli'], losesList: true,
    toolName: { characters: 'A-Za-z0-9_.-', first: 'A-Za-z_', longest: 64 },
    input: {
      keywords: [
        'type', 'format', 'title', 'description', 'default', 'enum', 'items', 'minItems', 'maxItems',
        'properties', 'required', 'minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern',
        'minimum', 'maximum', 'anyOf',
      ],
      notAtRoot: combinators,
      formats: ['date-time', 'enum', 'float', 'double', 'int32', 'int64'],
      oneType: true, stringEnums: true, noBooleans: true, untypedUnions: true, requiredIsDeclared: true,
      needsItems: true,
    },
  },
  {
    name: 'bedrock', title: 'Amazon Bedrock, Converse API',
    version: 'Converse API 2023-09-30', date: '2026-11-25',
    sources: [
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html',
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolInputSchema.html',
      'https://docs.aws.amazon.com/nova/latest/nova2-userguide/using-tools.html',
    ],
    clients: ['amazon-q', 'q-dev-cli', 'kiro'], losesList: true, toolName: usualNames, needsWords: true,
    // Bedrock's models differ. These rules are what the strictest models, Nova and Claude, accept.
    input: {
      keywords: [
        'type', 'title', 'description', 'default', 'enum', 'const', 'items', 'minItems', 'maxItems',
        'uniqueItems', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties',
        'minLength', 'maxLength', 'pattern', 'format', 'minimum', 'maximum', 'exclusiveMinimum',
        'exclusiveMaximum', 'multipleOf', 'anyOf', 'oneOf', 'allOf',
      ],
      notAtRoot: combinators, noBooleans: true, needsProperties: true, propertyName: usualArguments,
    },
  },
  {
    name: 'copilot-cli', title: 'GitHub Copilot CLI', version: '1.0', date: '2026-11-25',
    sources: [
      'https://github.com/github/copilot-cli/issues/1825',
      'https://github.com/github/copilot-cli/issues/2223',
      'https://github.com/github/copilot-cli/issues/4835',
    ],
    clients: ['github-copilot', 'copilot-cli'], losesList: true, tools: 128, toolName: usualNames,
    input: {
      notAtRoot: [...combinators, ...conditions], requiredIsDeclared: true, needsItems: true,
      needsProperties: true, propertyName: usualArguments,
    },
  },
  {
    // Until 2025 it sent the first 40 tools only; its documentation says so no more.
    name: 'cursor', title: 'Cursor', version: '2.2', date: '2026-11-25',
    sources: [
      'https://cursor.com/docs/context/mcp',
      'https://github.com/afrise/MCPSharp/issues/9',
      'https://github.com/awslabs/mcp/issues/633',
    ],
    clients: ['cursor'], losesList: true,
    toolName: { characters: 'A-Za-z0-9_-', longest: 60, isPrefixed: true },
    input: { notAtRoot: combinators, needsItems: true, propertyName: usualArguments },
  },
  {
    name: 'vscode', title: 'VS Code', version: '1.107, Copilot Chat', date: '2026-11-25',
    sources: [
      'https://github.com/microsoft/vscode/issues/284536',
      'https://github.com/microsoft/vscode/issues/248810',
      'https://github.com/microsoft/vscode-copilot-chat/blob/main/src/extension/tools/common/toolSchemaNormalizer.ts',
      'https://code.visualstudio.com/docs/copilot/chat/mcp-servers',
    ],
    clients: ['visual studio code'], losesList: false, tools: 128, toolName: usualNames,
    input: {
      notAtRoot: [...combinators, ...conditions], requiredIsDeclared: true, needsItems: true,
      needsProperties: true,
    },
  },
  {
    name: 'sdk-1', title: 'TypeScript SDK 1.x',
    version: '@modelcontextprotocol/sdk 1.20 to 1.32', date: '2026-11-25',
    sources: ['https://www.npmjs.com/package/@modelcontextprotocol/sdk'],
    clients: [], losesList: true, input: sdkRules, output: sdkRules,
  },
  {
    name: 'sdk-2-beta', title: 'TypeScript SDK 2.0, beta',
    version: '@modelcontextprotocol/client 2.0.0-beta.5', date: '2026-11-25',
    sources: ['https://www.npmjs.com/package/@modelcontextprotocol/client'],
    clients: [], losesList: true, input: betaRules, output: betaRules,
  },
]

/** Chooses by the name that the client gives itself. */
export const automatic = 'auto'

const profileNamed = (name: string): Profile | undefined =>
  profiles.find(profile => profile.name === name)

/** The profile for a client that calls itself so. */
const profileFor = (clientName: string): Profile | undefined => {
  const name = clientName.toLowerCase()
  return profiles.find(({ clients }) => clients.some(beginning => name.startsWith(beginning)))
}

/**
 * The profiles of these names, and where `auto` is one, that for the client too.
 * @param client as it calls itself; undefined where that was not seen
 */
export const profilesFor = (
  names: readonly string[], client: { readonly name: string } | undefined,
): readonly Profile[] => {
  const fixed = names.flatMap(name => profileNamed(name) ?? [])
  const own = names.includes(automatic) && client !== undefined ? profileFor(client.name) : undefined
  return own === undefined || fixed.includes(own) ? fixed : [...fixed, own]
}

/** One profile that suits all of these; undefined for none. */
export const combinedOf = (several: readonly Profile[]): Profile | undefined => {
  const [first, ...others] = several
  return first && others.reduce(combined, first)
}
