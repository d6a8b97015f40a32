import { fork } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { type Mutation, mutations } from './mutations.js'
import { play, warmUp, type WorldName } from './run.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The time in which a mutation must be caught, in seconds of a processor. */
const seconds = 60

const broken = 'it does not run'

/** A copy of the compiled program and of this simulator, in which one file is replaced at a time. */
const copied = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'customs-mutations-'))
  const kit = ['build/judgement.js', 'build/relay/host/plain-setup.js']
  for (const name of ['dist', 'build/simulation', ...kit, 'package.json', 'config'])
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: from => !from.endsWith('.map') })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** @returns what was found first, with its seed; undefined: nothing in time */
const found = (folder: string, world: WorldName): Promise<string | undefined> => new Promise(resolve => {
  const worker = ['--world', world, '--worker', `Infinity,1,1,Infinity,${seconds}`]
  const child = fork(join(folder, 'build/simulation/cli.js'), worker, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  let said = ''
  let isFound = false
  // One history at a time: it replaces the timers of this process.
  let before = Promise.resolve()
  child.stderr?.on('data', (chunk: Buffer) => void (said += chunk.toString()))
  child.on('message', (message: { readonly found?: { readonly invariant: string; readonly seed: number } }) => {
    if (message.found === undefined) return
    const { invariant, seed } = message.found
    // What fails without the mutation too was not caused by it.
    before = before.then(async () => {
      if (isFound || (await play(world, seed)).violations.length > 0) return
      isFound = true
      resolve(`${invariant}, seed ${seed}`)
      // Relay processes ignore the signals that would end them politely.
      child.kill('SIGKILL')
    })
  })
  child.on('exit', code => void before.then(() => resolve(code === 0 || code === null ? undefined : `${broken}: ${said.slice(0, 200)}`)))
})

const check = async (mutation: Mutation, folder: string): Promise<boolean> => {
  const { name, file, before, after, world, invariant } = mutation
  const source = readFileSync(join(root, 'src', file), 'utf8')
  if (source.split(before).length !== 2) {
    console.log(`ADAPT   ${name}: src/${file} does not have its text once`)
    return false
  }
  const place = join(folder, 'dist', file.replace(/ts$/, 'js'))
  const whole = readFileSync(place)
  const mutated = source.replace(before, () => after)
  const code = await transform(mutated, { loader: 'ts', target: 'node20' }).then(({ code }) => code, String)
  writeFileSync(place, code)
  const begun = performance.now()
  const what = await found(folder, world)
  writeFileSync(place, whole)
  const took = `${((performance.now() - begun) / 1000).toFixed(0)} s`
  const isCaught = what !== undefined && !what.startsWith(broken)
  console.log(isCaught ? `caught  ${name}: ${what} (${took})` : `MISSED  ${name} (${invariant}) ${what ?? ''}`)
  return isCaught
}

/** Changes the program in one place at a time, and shows that the simulation sees it. */
export const checkMutations = async (named = '', part = '0/1'): Promise<void> => {
  const [index = 0, parts = 1] = part.split('/').map(Number)

  await warmUp()
  const folder = copied()
  try {
    const chosen = mutations.filter(({ name }, at) => name.includes(named) && at % parts === index)
    let caught = 0
    for (const mutation of chosen) if (await check(mutation, folder)) caught += 1
    console.log(`${caught} of ${chosen.length} mutations are caught`)
    if (caught < chosen.length) process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
