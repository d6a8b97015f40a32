import fc from 'fast-check'
import { parse } from 'jsonc-parser'
import t from 'tap'
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser'
import { clients } from '#desk/install/clients/known.js'
import { planInstall, planUninstall, usualPolicy } from '#desk/install/clients/plan.js'
import { isChange, type EntryPlan } from '#desk/install/clients/steps.js'
import type { Note } from '#desk/install/clients/record.js'
import { files, layouts, written, type Generated } from './generate.js'
import { installing, removing } from './wanted.js'

const sourceOf = (
  { client, file }: Generated, text: string,
) => ({ file, real: file, text, client: clients.find(({ name }) => name === client) })

const notesOf = ({ steps }: EntryPlan): readonly Note[] => steps.filter(isChange).map(({ note }) => note)

/** Read by somebody else than us. */
const valueOf = (file: string, text: string): unknown => {
  const plain = text.replace(/^\ufeff/, '')
  return file.endsWith('.toml')
    ? getStaticTOMLValue(parseTOML(plain))
    : parse(plain, [], { allowTrailingComma: true })
}

const runs = { numRuns: 400 }

t.test('what install wraps in a file of any kind, uninstall makes what it was, byte for byte', async t => {
  let wrapped = 0
  fc.assert(
    fc.property(files, layouts, (generated, layout) => {
      const before = written(generated, layout)
      const installed = planInstall(sourceOf(generated, before), installing())
      const givenUp = installed.steps.some(step => !isChange(step) && /byte for byte/.test(step.reason))
      wrapped += installed.steps.filter(isChange).length
      const again = planUninstall(sourceOf(generated, installed.text), removing(notesOf(installed)))
      return !givenUp && again.text === before
    }),
    runs,
  )
  t.ok(wrapped > runs.numRuns, `${wrapped} servers were wrapped`)
})

t.test('a second install changes nothing', async () => {
  fc.assert(
    fc.property(files, layouts, (generated, layout) => {
      const { text } = planInstall(sourceOf(generated, written(generated, layout)), installing())
      const second = planInstall(sourceOf(generated, text), installing())
      return second.text === text && !second.steps.some(isChange)
    }),
    runs,
  )
})

t.test('an installed file says what it said, with us in front of the servers that were wrapped, and nothing else', async () => {
  fc.assert(
    fc.property(files, layouts, (generated, layout) => {
      const before = written(generated, layout)
      const { text, steps } = planInstall(sourceOf(generated, before), installing())
      const { profile } = clients.find(({ name }) => name === generated.client) ?? {}
      const options = [
        `--policy=${usualPolicy}`,
        ...(profile === undefined ? [] : [`--profile=${profile}`]),
      ]
      const changed =
        new Map(steps.filter(isChange).map(({ entry: { path } }) => [JSON.stringify(path), options]))
      const expected = inFront(valueOf(generated.file, before), [], changed)
      const found = valueOf(generated.file, text)
      return JSON.stringify(sorted(found)) === JSON.stringify(sorted(expected))
    }),
    runs,
  )
})

t.test('without what was noted, uninstall still gives commands that say what they said', async () => {
  fc.assert(
    fc.property(files, layouts, (generated, layout) => {
      const before = written(generated, layout)
      const { text, steps } = planInstall(sourceOf(generated, before), installing())
      // The keys of a remote server stand nowhere else.
      const remote = steps.filter(isChange).some(({ entry: { server } }) => server.kind === 'remote')
      const plan = planUninstall(sourceOf(generated, text), removing([]))
      if (remote) return plan.steps.some(({ kind }) => kind === 'left')
      const [back, first] = [plan.text, before].map(one => valueOf(generated.file, one))
      return JSON.stringify(sorted(back)) === JSON.stringify(sorted(first))
    }),
    runs,
  )
})

t.test('what is installed again with another policy is still restored byte for byte', async () => {
  fc.assert(
    fc.property(files, layouts, (generated, layout) => {
      const before = written(generated, layout)
      const first = planInstall(sourceOf(generated, before), installing())
      const second = planInstall(
        sourceOf(generated, first.text), installing({ policy: 'strict', notes: notesOf(first) }),
      )
      const notes = [...notesOf(second), ...notesOf(first)]
      return planUninstall(sourceOf(generated, second.text), removing(notes)).text === before
    }),
    runs,
  )
})

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** In one order, and without what is empty, which says the same as none. */
const sorted = (value: unknown): unknown =>
  isTable(value)
    ? Object.entries(value).filter(([, held]) => typeof held !== 'object' || JSON.stringify(held).length > 2)
        .sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, held]) => [key, sorted(held)])
    : value

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The same value, as install is to leave it. @param changed the further options of each server */
const inFront = (
  value: unknown, path: readonly string[], changed: ReadonlyMap<string, readonly string[]>,
): unknown => {
  if (!isTable(value)) return value
  const options = changed.get(JSON.stringify(path))
  if (options !== undefined) return wrappedServer(path.at(-1) ?? '', options, value)
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [key, inFront(held, [...path, key], changed)]),
  )
}

const wrappedServer = (
  name: string, policy: readonly string[], server: Record<string, unknown>,
): unknown => {
  const {
    command, args = [], url, serverUrl, httpUrl, headers, http_headers: codexHeaders,
    bearer_token_env_var: bearer, type, ...rest
  } = server
  const start = ['/opt/customs/dist/cli.js', 'wrap', `--server=${name}`, ...policy]
  if (command !== undefined) {
    return { ...server, command: '/usr/bin/node', args: [...start, '--', command, ...listOf(args)] }
  }
  const [env, options] = asVariables(headers ?? codexHeaders)
  return {
    ...rest,
    command: '/usr/bin/node',
    args: [
      ...start, ...options, ...(bearer === undefined ? [] : ['--header', `Authorization=Bearer {env:TOKEN}`]),
      url ?? serverUrl ?? httpUrl,
    ],
    ...(type !== undefined && { type: 'stdio' }),
    ...(env && { env }),
    ...(bearer !== undefined && { env_vars: [bearer] }),
  }
}

const asVariables = (headers: unknown): readonly [Record<string, unknown> | undefined, readonly string[]] => {
  if (!isTable(headers)) return [undefined, []]
  const env: Record<string, unknown> = {}
  const options = Object.entries(headers).flatMap(([header, value]) => {
    const plain = `MCP_CUSTOMS_HEADER_${header.toUpperCase().replace(/-/g, '_')}`
    const variable = Object.hasOwn(env, plain) ? `${plain}_2` : plain
    env[variable] = value
    return ['--header', `${header}={env:${variable}}`]
  })
  return [env, options]
}
