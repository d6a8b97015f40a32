import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('../src', import.meta.url))

interface Import {
  readonly file: string
  readonly from: string
  readonly typesOnly: boolean
  /** Loaded when it is needed. */
  readonly isLazy: boolean
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  .map(file => file.replaceAll('\\', '/'))
  // Another language, of which only the compiled module is used.
  .filter(file => !file.startsWith('relay/judge/assembly/'))

const importsOf = (file: string): readonly Import[] => {
  const found: Import[] = []
  const note = (specifier: ts.Node | undefined, typesOnly: boolean, isLazy = false) => {
    if (specifier !== undefined && ts.isStringLiteral(specifier)) {
      found.push({ file, from: specifier.text, typesOnly, isLazy })
    }
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      const clause = node.importClause
      const named = clause?.namedBindings
      const each = named && ts.isNamedImports(named) && clause.name === undefined
        && named.elements.every(one => one.isTypeOnly)
      note(node.moduleSpecifier, (clause?.phaseModifier === ts.SyntaxKind.TypeKeyword) || each === true)
    } else if (ts.isExportDeclaration(node)) note(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) note(
      node.arguments[0], false, true,
    )
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest))
  return found
}

const imports = files.flatMap(importsOf)

/** The room of a file: `core` for relay/core/relay.ts, `desk/lock`, `cli`, `library`. */
const roomOf = (file: string): string => {
  const [wing = '', room = ''] = file.split('/')
  if (!file.includes('/')) return file.replace('.ts', '')
  return wing === 'relay' ? room : wing === 'desk' ? `desk/${room}` : wing
}

const isOwn = ({ from }: Import): boolean => /^[.#]/.test(from)

const targetOf = ({ file, from }: Import): string =>
  from.startsWith('#') ? from.slice(1) : relative(root, join(root, dirname(file), from)).replaceAll('\\', '/')

/**
 * Who may import whom: judge <- protocol <- { base, core } <- { rules, schema, profiles, lock, audit, auth,
 * transport } <- session <- host <- cli. The desk imports rooms of the relay; only cli imports the desk.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // A file of our own and a path are JSON and text as well.
  base: ['base', 'protocol'],
  judge: ['judge'],
  protocol: ['protocol', 'judge'],
  core: ['core', 'protocol'],
  profiles: ['profiles', 'core', 'protocol'],
  rules: ['rules', 'core', 'protocol'],
  schema: ['schema', 'core', 'protocol', 'judge'],
  config: ['config', 'base', 'rules'],
  lock: ['lock', 'config', 'core', 'protocol', 'base'],
  audit: ['audit', 'core', 'protocol', 'base'],
  capture: ['capture', 'audit', 'core', 'protocol', 'base'],
  transport: ['transport', 'core', 'protocol', 'base'],
  eras: ['eras', 'transport', 'core', 'protocol', 'base'],
  auth: ['auth', 'transport', 'core', 'protocol', 'base'],
  session: ['session', 'eras', 'rules', 'schema', 'lock', 'audit', 'transport', 'core', 'protocol', 'base'],
  telemetry: ['telemetry', 'session', 'audit', 'core', 'protocol', 'base'],
  host: [
    'host', 'session', 'eras', 'telemetry', 'capture', 'config', 'profiles', 'rules', 'schema', 'lock', 'audit', 'auth',
    'transport', 'core', 'protocol', 'base',
  ],
  library: ['library', 'session', 'config', 'rules', 'schema', 'transport', 'core', 'protocol', 'base'],
  index: ['library', 'core', 'protocol', 'base'],
  cli: [],
}

/** Rooms of the desk that use others of it. Each may use every room of the relay. */
const desk: Readonly<Record<string, readonly string[]>> = {
  'desk/terminal': ['desk/inspect'],
  'desk/inspect': ['desk/terminal', 'desk/install'],
  'desk/install': ['desk/terminal', 'desk/lock', 'desk/inspect'],
  'desk/lock': ['desk/terminal', 'desk/inspect', 'desk/install'],
  'desk/learn': ['desk/terminal'],
  'desk/replay': ['desk/terminal'],
  'desk/login': ['desk/terminal'],
  'desk/report': ['desk/terminal'],
  'desk/audit': ['desk/terminal', 'desk/report'],
  'desk/explain': ['desk/terminal'],
}

const mayImport = (room: string, target: string): boolean => {
  const rooms = allowed[room]
  if (room === 'cli') return true
  if (rooms !== undefined) return room === target || rooms.includes(target)
  const isOfRelay = target in allowed && target !== 'cli' && target !== 'library'
  return room === target || isOfRelay || desk[room]?.includes(target) === true
}
/**
 * config/ reads the table of rules, and the actions, which are data of the core, knows an object of JSON, and
 * keeps secrets out of what it shows; all else that it needs of others is types.
 */
const ofOthers = [
  'relay/core/vocabulary.js', 'relay/protocol/unmetered.js', 'relay/protocol/text/secrets.js',
]

t.test('every module imports only what lies below it', t => {
  for (const one of imports.filter(isOwn)) {
    const room = roomOf(one.file)
    const target = targetOf(one)
    const free = room === 'config' && (one.typesOnly || ofOthers.includes(target))
      // A command's settings have the type of its flags, which are declared in cli.
      || room.startsWith('desk/') && one.typesOnly && target.startsWith('cli/')
    t.ok(
      free || mayImport(room, roomOf(target.replace('.js', '.ts'))),
      `${one.file} imports ${target}`,
    )
  }
  t.end()
})

t.test('no circle of imports: those of types count, those on demand do not', t => {
  const targetsOf = (file: string) => imports.filter(one => one.file === file && isOwn(one) && !one.isLazy)
    .map(one => targetOf(one).replace(/\.js$/, '.ts')).filter(target => files.includes(target))
  const below = new Map(files.map(file => [file, targetsOf(file)]))
  const numbers = new Map<string, number>()
  const lows = new Map<string, number>()
  const stack: string[] = []
  const circles: (readonly string[])[] = []
  const visit = (file: string): number => {
    const own = numbers.size
    numbers.set(file, own)
    stack.push(file)
    let low = own
    for (const next of below.get(file) ?? []) {
      if (!numbers.has(next)) low = Math.min(low, visit(next))
      else if (stack.includes(next)) low = Math.min(low, lows.get(next) ?? numbers.get(next) ?? own)
    }
    lows.set(file, low)
    if (low === own) {
      const circle = stack.splice(stack.indexOf(file))
      if (circle.length > 1) circles.push(circle)
    }
    return low
  }
  for (const file of files) if (!numbers.has(file)) visit(file)
  t.strictSame(circles, [])
  t.end()
})

t.test('an exported name is declared once', t => {
  const declared = new Map<string, string[]>()
  // What other programs import keeps the names that they know.
  for (const file of files.filter(one => !/^library\/|^index\.ts$|\/generated\//.test(one))) {
    const names = readFileSync(join(root, file), 'utf8')
      .matchAll(/^export (?:abstract )?(?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm)
    for (const name of new Set([...names].map(([, one = '']) => one))) {
      declared.set(name, [...declared.get(name) ?? [], file])
    }
  }
  t.strictSame([...declared].filter(([, where]) => where.length > 1), [])
  t.end()
})

const isBuiltin = (from: string): boolean => from.startsWith('node:') || builtinModules.includes(from)

/** Which layers may name a package; one that is not here may be named anywhere. */
const owners: Readonly<Record<string, string>> = {
  ajv: 'config', undici: 'transport', pino: 'audit', 'jsonc-parser': 'desk/install',
  'toml-eslint-parser': 'desk/install', '@opentelemetry': 'telemetry', '@redis': 'host',
}
const ownedBuiltins: Readonly<Record<string, string>> = {
  'node:http': 'transport', 'node:https': 'transport', 'node:child_process': 'transport',
}

t.test('packages and sockets have one owner each', t => {
  for (const { file, from } of imports.filter(one => !isOwn(one))) {
    const layer = roomOf(file)
    const name = from.startsWith('@') ? from.split('/').slice(0, 2).join('/') : from.split('/')[0] ?? from
    const owner = owners[name] ?? owners[name.split('/')[0] ?? name] ?? ownedBuiltins[from]
    // The admin listener is a plain HTTP server of its own: it speaks no MCP.
    if (owner !== undefined && !file.startsWith('relay/host/admin/')) t.equal(layer, owner, `${file} imports ${from}`)
    if (layer === 'core' || layer === 'protocol') {
      t.ok(from === 'node:buffer', `${file} imports ${from}: the core is pure`)
    }
    if (layer === 'schema') {
      t.ok(isBuiltin(from), `${file} imports ${from}: what a stranger's schema costs is ours to count`)
    }
    if (file === 'cli.ts') t.ok(isBuiltin(from), `${file} loads no package: it is on the way of every start`)
  }
  t.end()
})

t.test('the pure core has no clock, no timer and no promise', t => {
  for (const file of files.filter(file => file.startsWith('relay/core/'))) {
    const source = readFileSync(join(root, file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*/g, '')
    t.notMatch(
      source,
      /\b(?:Date\.now|new Date|performance\.|setTimeout|setInterval|setImmediate|process\.|await |new Promise|fetch\()/,
      file,
    )
  }
  t.end()
})

/**
 * Where `JSON.parse` stands, and why. What comes from a client or server, whole or a slice of it, goes
 * through protocol/json.ts, which never throws.
 */
const parsers = new Map([
  ['relay/protocol/json.ts', 'the reader of everything that crossed the wire'],
  ['relay/config/text.ts', 'the operator reads where their file is wrong'],
  ['cli/flags/inspect.ts', 'the operator reads where their arguments are wrong'],
  ['relay/base/version.ts', 'our own package.json'],
  ['desk/inspect/saved.ts', 'the operator reads where their file is wrong'],
  ['library/options.ts', 'a copy of what the caller gave'],
  ['relay/transport/channel/front-end.ts', 'what a relay process says of itself and of heads'],
  ['relay/transport/channel/served.ts', 'what the other process wrote of heads'],
  ['relay/transport/channel/asks.ts', 'what the other process wrote of heads'],
])

t.test('one reader gives JSON its meaning', t => {
  const callsOf = (file: string): number => {
    let calls = 0
    const visit = (node: ts.Node): void => {
      if (ts.isPropertyAccessExpression(
        node,
      ) && node.expression.getText() === 'JSON' && node.name.text === 'parse') calls++
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true))
    return calls
  }
  t.strictSame(files.filter(file => callsOf(file) > 0).sort(), [...parsers.keys()].sort())
  t.match(
    readFileSync(join(root, 'relay/protocol/json.ts'), 'utf8'),
    /try \{\n    return JSON\.parse\(text\) as Json\n  \} catch \{\n    return undefined/,
  )
  t.end()
})

t.test('one writer gives ids and responses their text', t => {
  const writers = files.filter(file =>
    /JSON\.stringify\(id\)[^}]|"id":\$\{(?!idText)/.test(readFileSync(join(root, file), 'utf8')))
  t.strictSame(writers, ['relay/protocol/message.ts'])
  t.end()
})

t.test('one reader gives a content type its meaning', t => {
  const readers = files.filter(file =>
    /charset\\s\*=|startsWith\('charset|split\(\/\[ \\t;\]/.test(readFileSync(join(root, file), 'utf8')))
  t.strictSame(readers, ['relay/protocol/headers.ts'])
  t.end()
})

/** Who may walk JSON without a meter, and what bounds the work instead. */
const unmetered = new Map([
  ...[
    'audit', 'capture', 'cli', 'config', 'desk', 'lock',
  ].map(room => [room, 'a command, or a file of the operator'] as const),
  ['schema', 'the budget of the engine'],
  ['library/options.ts', 'what the caller gave'],
  ['library/relay.ts', 'what the caller gave'],
  ['library/server-end.ts', 'what the caller gave'],
  ['relay/protocol/message.ts', 'one copy of an error, linear in its frame'],
  ['relay/protocol/parse.ts', 'the members of one message, linear in its frame'],
  ['relay/transport/one-process/rename.ts', 'one copy of a message, linear in its frame'],
  ['relay/protocol/ambiguity.ts', 'the reader of a frame, linear in its bytes'],
  ['relay/protocol/pieces.ts', 'the reader of a frame, in pieces'],
  ['relay/protocol/case-variants.ts', 'the reader of a frame, in turns'],
  ['relay/core/tool-page.ts', 'a slice of a list, paid for'],
  ['relay/auth/client/discovery.ts', 'a document of the issuer, of 512 KB at most'],
  ['relay/auth/client/registration.ts', 'a document of the issuer, of 512 KB at most'],
  ['relay/auth/client/store.ts', 'a file of our own'],
  ['relay/base/claim.ts', 'a file of our own'],
  ['relay/base/installation.ts', 'a file of our own'],
  ['relay/base/own-json.ts', 'a file of our own'],
  ['relay/host/settings.ts', 'types alone'],
  ['relay/host/server/setup.ts', 'types alone'],
  ['relay/auth/facade/clients.ts', 'a registration, of 64 KB at most'],
  ['relay/auth/facade/answers.ts', 'JSON of our own'],
  ['relay/auth/issuer-keys.ts', 'a document of 512 KB at most'],
])

const wingOf = (file: string): string => roomOf(file).split('/')[0] ?? ''
const isUnmetered = (file: string): boolean => unmetered.has(wingOf(file)) || unmetered.has(file)

t.test('JSON from the wire is walked with a meter', { timeout: 120_000 }, t => {
  const using = imports.filter(one => targetOf(one) === 'relay/protocol/unmetered.js').map(({ file }) =>
    (unmetered.has(wingOf(file)) ? wingOf(file) : file))
  t.strictSame([...new Set(using)].sort(), [...unmetered.keys()].sort())

  // The compiler refuses loops; of what it cannot refuse, the types tell.
  const program = ts.createProgram(files.map(file => join(root, file)), {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, strict: true, noEmit: true,
    skipLibCheck: true, types: ['node'], jsx: ts.JsxEmit.ReactJSX,
  })
  const checker = program.getTypeChecker()
  const isWire = (type: ts.Type): boolean =>
    type.isUnion() ? type.types.some(isWire) : type.getProperties().some(({ escapedName }) =>
      String(escapedName).startsWith('__@wire'))
  const found: string[] = []
  for (const file of files) {
    const source = program.getSourceFile(join(root, file))
    if (source === undefined || isUnmetered(file) || file === 'relay/protocol/json.ts') continue
    const visit = (node: ts.Node): void => {
      const walked = ts.isSpreadAssignment(node) || ts.isSpreadElement(node)
        || ts.isForInStatement(node) ? node.expression : undefined
      if (walked !== undefined && isWire(checker.getTypeAtLocation(walked))) {
        found.push(`${file}: ${node.getText().split('\n')[0] ?? ''}`)
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  t.strictSame(found, [])
  t.end()
})

/** What is imported when a module is, before anything of it runs. */
const loadedWith = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(file)) return seen
  seen.add(file)
  const source = readFileSync(join(built, file), 'utf8')
  for (const [, from = ''] of source.matchAll(/^import\s*(?:[^'";()]*from\s*)?["']([^"']+)["']/gm)) {
    if (from.startsWith('.')) loadedWith(join(dirname(file), from), seen)
    else seen.add(from)
  }
  return seen
}
const built = fileURLToPath(new URL('../dist', import.meta.url))

t.test('a relay that nobody asked for telemetry loads nothing of it', t => {
  const chunks =
    readdirSync(join(built, 'chunks')).filter(file => /^(?:wrap|serve)-[A-Z0-9]+\.js$/.test(file))
  t.equal(chunks.length, 2)
  for (const chunk of chunks) {
    const loaded = [...loadedWith(join('chunks', chunk))]
    t.ok(loaded.length > 10, 'it is read')
    t.strictSame(loaded.filter(name => /opentelemetry|^pino/.test(name)), [], chunk)
    for (const name of loaded.filter(file => file.startsWith('chunks/'))) {
      t.notMatch(
        readFileSync(join(built, name), 'utf8'), /PeriodicExportingMetricReader|pino\.transport/, name,
      )
    }
  }
  t.end()
})

t.test('a relay of one process loads nothing of several', t => {
  const chunks = readdirSync(join(built, 'chunks'))
  const [serve = ''] = chunks.filter(file => /^serve-[A-Z0-9]+\.js$/.test(file))
  const [front = ''] = chunks.filter(file => /^relays-[A-Z0-9]+\.js$/.test(file))
  const textOf = (chunk: string) => [
    ...loadedWith(join('chunks', chunk)),
  ].filter(file => file.startsWith('chunks/')).map(file => readFileSync(join(built, file), 'utf8')).join('')
  const several = /\bclass (?:Wire|Relays)\b|\b(?:Wire|Relays) = class/
  t.match(textOf(front), several)
  t.notMatch(textOf(serve), several)
  t.end()
})
