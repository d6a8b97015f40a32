// Which tests share a process: to start one and to load tap takes longer than most files. A part of `npm test`.
//
// Those of a room (a folder of a wing) do, and so do all small rooms. A file that runs several of its tests at once has one of its own,
// since `t.jobs` holds for a process. Each file still runs alone: `npx tap build/relay/core/relay.test.js`.
// Files named `.long.test.ts` start very many processes or judge very many values: `npm run test:long` runs each
// in a process of its own.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('../build', import.meta.url)))

const files = readdirSync('.', { recursive: true }).map(file => file.replaceAll('\\', '/')).filter(file => file.endsWith('.test.js')).sort()
const isLong = file => file.endsWith('.long.test.js')
const isAlone = file => isLong(file) || /^t\.jobs = /m.test(readFileSync(file, 'utf8'))
const roomOf = file => file.split('/').slice(0, /^(?:relay|desk)\//.test(file) ? 2 : 1).join('-')
const isSmall = room => files.filter(file => !isLong(file) && roomOf(file) === room).length < 5
const nameOf = file => (isAlone(file) ? file.replace(/(\.long)?\.test\.js$/, '').replaceAll('/', '-') : isSmall(roomOf(file)) ? 'small-rooms' : roomOf(file))

for (const [folder, own] of [['processes', files.filter(file => !isLong(file))], ['long', files.filter(isLong)]]) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const name of new Set(own.map(nameOf))) {
    const together = JSON.stringify(own.filter(file => nameOf(file) === name), undefined, 2)
    writeFileSync(`${folder}/${name}.js`, `import { inTurn } from '../../test/in-turn.mjs'\n\nawait inTurn(${together})\n`)
  }
}
