import fc from 'fast-check'

/** A value as configuration files hold it. */
export type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value }

type Table = Readonly<Record<string, Value>>

/** How a file is laid out; the noise decides, place by place, what else may stand there. */
export interface Layout {
  readonly indent: string
  readonly newline: string
  readonly mark: boolean
  readonly lastNewline: boolean
  readonly comments: boolean
  readonly trailingCommas: boolean
  readonly noise: readonly number[]
}

export const layouts: fc.Arbitrary<Layout> = fc.record({
  indent: fc.constantFrom('  ', '    ', '\t', '   ', ''),
  newline: fc.constantFrom('\n', '\r\n'),
  mark: fc.boolean(),
  lastNewline: fc.boolean(),
  comments: fc.boolean(),
  trailingCommas: fc.boolean(),
  noise: fc.array(fc.nat(11), { minLength: 1, maxLength: 60 }),
})

const words = fc.string({ unit: 'grapheme', maxLength: 12 })
const names = fc.oneof(
  fc.stringMatching(/^[A-Za-z][\w.-]{0,12}$/), fc.constantFrom('my server', 'ünï', 'a"b', 'x.y/z', '0'),
)

const tables = (values: fc.Arbitrary<Value>) =>
  fc.dictionary(fc.stringMatching(/^[A-Z][A-Z_]{0,8}$/), values, { maxKeys: 3 })

const shuffled = (table: fc.Arbitrary<Table>): fc.Arbitrary<Table> =>
  table.chain(one => fc.shuffledSubarray(
    Object.entries(one), { minLength: Object.keys(one).length },
  ).map(entries => Object.fromEntries(entries)))

const commandServers = fc.record(
  {
    command: fc.constantFrom('node', 'npx', 'uvx', '/opt/a b/run', 'C:\\Program Files\\x.exe', './server.sh'),
    args: fc.array(words, { maxLength: 4 }),
    env: tables(words),
    cwd: words,
    timeout: fc.nat(),
    disabled: fc.constant(false),
    autoApprove: fc.array(words, { maxLength: 2 }),
  },
  { requiredKeys: ['command'] },
)

const addresses = fc.constantFrom(
  'https://mcp.example.com/mcp', 'http://127.0.0.1:3000/mcp', 'https://mcp.example.com/v1/sse',
)
const headers =
  fc.dictionary(fc.constantFrom('Authorization', 'X-Api-Key', 'x-team', 'X_Team'), words, { maxKeys: 3 })

const remoteServers = (url: string, headersKey: string) =>
  fc.record(
    { [url]: addresses, [headersKey]: headers, timeout: fc.nat(), disabled: fc.constant(false) },
    { requiredKeys: [url] },
  )

const typedServers = (type: string) =>
  fc.record(
    { type: fc.constantFrom(type, 'sse'), url: addresses, headers }, { requiredKeys: ['type', 'url'] },
  )

const odd: fc.Arbitrary<Value> = fc.constantFrom<Value>(
  {}, 5, 'node', { command: 5 }, { command: 'a', url: 'https://a.example/' }, { url: 'ftp://a.example/' },
  { command: 'x', args: [1] },
)

const anything =
  fc.constantFrom<Value>(true, 12, 'text // no comment', [], {}, [1, 'a', { b: false }], { c: { d: ['#'] } })

export interface Generated {
  readonly client: string
  readonly file: string
  readonly value: Table
}

const serversOf = (server: fc.Arbitrary<Value>) => fc.dictionary(names, server, { maxKeys: 4 })

const jsonFile = (client: string, key: string, server: fc.Arbitrary<Table>): fc.Arbitrary<Generated> =>
  shuffled(fc.record({
    [key]: serversOf(fc.oneof({ weight: 5, arbitrary: shuffled(server) }, odd)), theme: anything,
    inputs: anything,
  }))
    .map(value => ({ client, file: `/home/a/${client}.json`, value }))

const claudeCode: fc.Arbitrary<Generated> = fc.record({
  numStartups: fc.nat(),
  mcpServers: serversOf(shuffled(fc.oneof<fc.Arbitrary<Table>[]>(commandServers, typedServers('http')))),
  projects: fc.dictionary(fc.constantFrom('/home/a/one', '/home/a/two words', 'C:/x'), fc.record(
    { allowedTools: fc.constant([]), mcpServers: serversOf(commandServers) }, { requiredKeys: [] },
  ), { maxKeys: 3 }),
}, { requiredKeys: [] }).map(value => ({ client: 'claude-code', file: '/home/a/.claude.json', value }))

const codexServers = fc.oneof<fc.Arbitrary<Table>[]>(
  shuffled(fc.record({
    command: fc.constantFrom('node', '/opt/a b/run'), args: fc.array(words, { maxLength: 3 }),
    env: tables(words), startup_timeout_sec: fc.nat(99),
  }, { requiredKeys: ['command'] })),
  shuffled(fc.record({
    url: addresses, http_headers: headers, bearer_token_env_var: fc.constant('TOKEN'),
    enabled: fc.constant(true),
  }, { requiredKeys: ['url'] })),
)

const codex: fc.Arbitrary<Generated> = fc
  .record(
    { model: words, mcp_servers: serversOf(codexServers), tui: fc.constant({ theme: 'dark' }) },
    { requiredKeys: [] },
  )
  .map(value => ({ client: 'codex', file: '/home/a/config.toml', value }))

export const files: fc.Arbitrary<Generated> = fc.oneof(
  jsonFile('claude-desktop', 'mcpServers', commandServers),
  claudeCode,
  jsonFile(
    'cursor', 'mcpServers', fc.oneof<fc.Arbitrary<Table>[]>(commandServers, remoteServers('url', 'headers')),
  ),
  jsonFile('vscode', 'servers', fc.oneof<fc.Arbitrary<Table>[]>(commandServers, typedServers('http'))),
  jsonFile('windsurf', 'mcpServers', remoteServers('serverUrl', 'headers')),
  jsonFile(
    'zed', 'context_servers',
    fc.oneof<fc.Arbitrary<Table>[]>(commandServers, remoteServers('url', 'headers')),
  ),
  jsonFile('gemini', 'mcpServers', remoteServers('httpUrl', 'headers')),
  jsonFile('cline', 'mcpServers', typedServers('streamableHttp')),
  { weight: 3, arbitrary: codex },
)

/** What a person or an editor may have made of the value. */
export const written = ({ file, value }: Generated, layout: Layout): string => {
  const text = file.endsWith('.toml') ? tomlText(value, layout) : jsonText(value, layout)
  return (layout.mark ? '\ufeff' : '') + text + (layout.lastNewline ? layout.newline : '')
}

const chooser = ({ noise }: Layout) => {
  let at = 0
  /** One time in so many. */
  return (often: number): boolean => (noise[at++ % noise.length] ?? 0) % often === often - 1
}

const jsonText = (value: Value, layout: Layout): string => {
  const { indent, newline, comments, trailingCommas } = layout
  const rarely = chooser(layout)
  const comment = () =>
    (!comments || !rarely(4) ? '' : rarely(2) ? ' /* "a": { */ ' : ` // it's "b", [${newline}`)
  const group = (open: string, parts: readonly string[], close: string, depth: number): string => {
    if (parts.length === 0) return open + (rarely(3) ? comment() || newline : '') + close
    const comma = trailingCommas && rarely(2) ? ',' : ''
    if (rarely(3)) return `${open} ${parts.join(`,${comment() || ' '}`)}${comma} ${close}`
    const line = newline + indent.repeat(depth + 1)
    return `${open}${comment()}${line}${parts.map(part => part + comment()).join(`,${line}`)}${comma}${newline}${indent.repeat(depth)}${close}`
  }
  const key = (name: string) =>
    (rarely(11) && /^\w/.test(
      name,
    )
      ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${JSON.stringify(name.slice(1)).slice(1)}`
      : JSON.stringify(
          name,
        ))
  const show = (one: Value, depth: number): string => {
    if (typeof one === 'string') return JSON.stringify(one).replace(rarely(5) ? /\// : /\0/, '\\/')
    if (typeof one !== 'object') return JSON.stringify(one)
    if (isList(one)) return group('[', one.map(element => show(element, depth + 1)), ']', depth)
    return group('{', Object.entries(one).map(
      ([name, held]) => `${key(name)}${rarely(5) ? ' : ' : ': '}${comment()}${show(held, depth + 1)}`,
    ), '}', depth)
  }
  return comment() + show(value, 0)
}

const isList = (value: Value): value is readonly Value[] => Array.isArray(value)

const tomlText = ({ mcp_servers: servers, ...others }: Table, layout: Layout): string => {
  const { indent, newline, comments } = layout
  const rarely = chooser(layout)
  const comment = () => (comments && rarely(4) ? ` # [mcp_servers.x] "a" = '` : '')
  const key = (name: string) => (/^[\w-]+$/.test(name) && !rarely(6) ? name : JSON.stringify(name))
  const text = (one: string) =>
    /^[\w ./:-]+$/.test(one) && rarely(3)
      ? (rarely(2) ? `'${one}'` : `"""${newline}${one}"""`)
      : JSON.stringify(one).replaceAll('\x7f', '\\u007F')
  const show = (one: Value): string => {
    if (typeof one === 'string') return text(one)
    if (typeof one !== 'object') return String(one)
    if (!isList(one)) {
      return `{ ${Object.entries(one).map(([name, held]) => `${key(name)} = ${show(held)}`).join(', ')} }`
    }
    const parts = one.map(show)
    return rarely(2)
      ? `[${comment()}${newline}${parts.map(part => `${indent}${part},${comment()}${newline}`).join('')}]`
      : `[${parts.join(', ')}]`
  }
  const pair = (name: string, held: Value) => `${name}${rarely(4) ? '=' : ' = '}${show(held)}${comment()}`
  const table = (name: string, server: Value): readonly string[] => {
    if (typeof server !== 'object' || isList(server)) return []
    const below: string[] = []
    const own = Object.entries(server).flatMap(([inner, held]) => {
      if (typeof held !== 'object' || isList(held) || rarely(3)) return [pair(key(inner), held)]
      const members = Object.entries(held)
      if (rarely(2)) return members.map(([last, one]) => pair(`${key(inner)}.${key(last)}`, one))
      below.push(
        `[mcp_servers.${key(name)}.${key(inner)}]${comment()}`,
        ...members.map(([last, one]) => pair(key(last), one)),
      )
      return []
    })
    return [
      `${rarely(4) ? ' ' : ''}[mcp_servers.${key(name)}]${comment()}`, ...own, ...(rarely(2) ? [''] : []),
      ...below,
    ]
  }
  const all = typeof servers === 'object' && !isList(servers) ? Object.entries(servers) : []
  const inline = rarely(4)
  const dotted = !inline && rarely(4)
  const dottedPairs = ([name, server]: readonly [string, Value]) =>
    typeof server === 'object' && !isList(server) ? Object.entries(server)
      .map(([inner, held]) => pair(`mcp_servers.${key(name)}.${key(inner)}`, held)) : []
  const tablesOf = Object.entries(others).flatMap(([name, held]) =>
    (typeof held === 'object' && !isList(held) ? [[name, held] as const] : []))
  const lines = [
    ...Object.entries(others).filter(([, held]) => typeof held !== 'object' || isList(held))
      .map(([name, held]) => pair(key(name), held)),
    ...(dotted ? all.flatMap(dottedPairs) : []),
    ...(inline ? ['[mcp_servers]', ...all.map(([name, server]) => pair(key(name), server))] : []),
    ...(dotted || inline ? [] : all.flatMap(([name, server]) => table(name, server))),
    ...tablesOf.flatMap(([name, held]) => [
      `[${key(name)}]`, ...Object.entries(held).map(([inner, one]) => pair(key(inner), one)),
    ]),
  ]
  return lines.join(newline)
}
