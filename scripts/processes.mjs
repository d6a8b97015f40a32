// Which tests share a process: to start one and to load tap takes longer than most files. A part of `npm test`.
//
// Those of a room (a folder of test/) do, and so do all small rooms. A file that runs several of its tests at once has one of its own:
// `t.jobs` holds for a process. Each file still runs alone: `npx tap build/core/relay.test.js`.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('../build', import.meta.url)))

const files = readdirSync('.', { recursive: true }).map(file => file.replaceAll('\\', '/')).filter(file => file.endsWith('.test.js')).sort()
const isAlone = file => /^t\.jobs = /m.test(readFileSync(file, 'utf8'))
const roomOf = file => file.split('/')[0]
const isSmall = room => files.filter(file => roomOf(file) === room).length < 5
const nameOf = file => (isAlone(file) ? file.replace('.test.js', '').replaceAll('/', '-') : isSmall(roomOf(file)) ? 'small-rooms' : roomOf(file))

rmSync('processes', { recursive: true, force: true })
mkdirSync('processes')
for (const name of new Set(files.map(nameOf))) {
  const together = JSON.stringify(files.filter(file => nameOf(file) === name), undefined, 2)
  writeFileSync(`processes/${name}.js`, `import { inTurn } from '../../test/in-turn.mjs'\n\nawait inTurn(${together})\n`)
}
