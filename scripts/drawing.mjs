// Draws the two wings (docs/house.svg) from the imports of src: a box for each room with its lines of code, floors by what it stands on.
// `node scripts/drawing.mjs` writes the drawing; `--check` says whether it is the one that the imports give, sizes apart.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sources } from './imports.mjs'

const target = fileURLToPath(new URL('../docs/house.svg', import.meta.url))

/** `relay/core`, `desk/lock`, `cli`, `library`; the two entry files belong to theirs. */
const roomOf = file => {
  if (file === 'cli.ts') return 'cli'
  if (file === 'index.ts') return 'library'
  const [wing, room] = file.split('/')
  return wing === 'relay' || wing === 'desk' ? `${wing}/${room}` : wing
}

const lines = new Map()
const arrows = new Map()
for (const { file, text, imports } of sources) {
  const from = roomOf(file)
  lines.set(from, (lines.get(from) ?? 0) + text.split('\n').length - 1)
  for (const to of imports.map(one => roomOf(one.to))) {
    if (to !== from) arrows.set(from, (arrows.get(from) ?? new Map()).set(to, (arrows.get(from)?.get(to) ?? 0) + 1))
  }
}

/** The floor of a room: one above the highest room that it stands on. A circle ends at the room that began it. */
const floors = new Map()
const floorOf = (room, above = []) => {
  if (floors.has(room)) return floors.get(room)
  const below = [...(arrows.get(room)?.keys() ?? [])].filter(one => !above.includes(one) && one.startsWith('relay/'))
  const floor = Math.max(-1, ...below.map(one => floorOf(one, [...above, room]))) + 1
  floors.set(room, floor)
  return floor
}

const [width, height, gap] = [118, 44, 14]
const rooms = [...lines.keys()].sort()
const relay = rooms.filter(room => room.startsWith('relay/'))
const desk = rooms.filter(room => room.startsWith('desk/'))
const rows = Map.groupBy ? Map.groupBy(relay, room => floorOf(room)) : relay.reduce((all, room) => all.set(floorOf(room), [...(all.get(floorOf(room)) ?? []), room]), new Map())
const tops = Math.max(...rows.keys())
const widest = Math.max(...[...rows.values()].map(row => row.length))
const left = 20
const relayWidth = widest * (width + gap) + gap
const deskLeft = left + relayWidth + 60
const deskRows = Math.ceil(desk.length / 2)
const bodyTop = 110
const bodyHeight = Math.max(tops + 1, deskRows) * (height + 26) + 40
const places = new Map()
for (const [floor, row] of rows) {
  const begin = left + (relayWidth - row.length * (width + gap) + gap) / 2
  row.forEach((room, index) => places.set(room, [begin + index * (width + gap), bodyTop + 30 + (tops - floor) * (height + 26)]))
}
desk.forEach((room, index) => places.set(room, [deskLeft + gap + (index % 2) * (width + gap), bodyTop + 30 + Math.floor(index / 2) * (height + 26)]))
const deskWidth = 2 * (width + gap) + gap
places.set('cli', [deskLeft + gap, 30])
places.set('library', [left + relayWidth / 2 - width / 2, 30])

const box = room => {
  const [x, y] = places.get(room)
  return `<g><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="5" fill="#fff" stroke="#345"/>`
    + `<text x="${x + width / 2}" y="${y + 19}" text-anchor="middle" font-weight="600">${room.split('/').at(-1)}</text>`
    + `<text x="${x + width / 2}" y="${y + 35}" text-anchor="middle" font-size="11" fill="#567">${lines.get(room).toLocaleString('en-US')} lines</text></g>`
}
const within = relay.flatMap(from => [...(arrows.get(from)?.keys() ?? [])].map(to => [from, to])).filter(([, to]) => to.startsWith('relay/'))
const line = ([from, to]) => {
  const [[x1, y1], [x2, y2]] = [places.get(from), places.get(to)]
  return `<path d="M${x1 + width / 2} ${y1 + height}L${x2 + width / 2} ${y2}" stroke="#9ab" stroke-width="0.7" fill="none"/>`
}
const sum = of => of.reduce((all, room) => all + lines.get(room), 0).toLocaleString('en-US')
const count = (from, to) => rooms.filter(from).reduce((all, room) => all + [...(arrows.get(room) ?? [])].filter(([one]) => to(one)).reduce((part, [, number]) => part + number, 0), 0)
const isRelay = room => room.startsWith('relay/')
const isDesk = room => room.startsWith('desk/')
const back = count(isRelay, isDesk)
const total = deskLeft + deskWidth + 20
const arrow = (x1, y1, x2, y2, label, dx = 0, dy = -6) =>
  `<path d="M${x1} ${y1}L${x2} ${y2}" stroke="#345" stroke-width="2" marker-end="url(#end)" fill="none"/>`
  + `<text x="${(x1 + x2) / 2 + dx}" y="${(y1 + y2) / 2 + dy}" text-anchor="middle" font-size="11">${label}</text>`
const middle = bodyTop + bodyHeight / 2
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${total} ${bodyTop + bodyHeight + 20}" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="The two wings of mcp-customs">
<title>The two wings of mcp-customs: made by scripts/drawing.mjs from the imports</title>
<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#345"/></marker></defs>
<rect width="100%" height="100%" fill="#f7f9fb"/>
<rect x="${left}" y="${bodyTop}" width="${relayWidth}" height="${bodyHeight}" rx="8" fill="#e8f0f7" stroke="#9ab"/>
<rect x="${deskLeft}" y="${bodyTop}" width="${deskWidth}" height="${bodyHeight}" rx="8" fill="#f5efe2" stroke="#ba9"/>
<text x="${left + 12}" y="${bodyTop + 20}" font-weight="600">relay: everything in the path of a message (${sum(relay)} lines)</text>
<text x="${deskLeft + 12}" y="${bodyTop + 20}" font-weight="600">desk: around it (${sum(desk)} lines)</text>
${within.map(line).join('\n')}
${[...relay, ...desk, 'cli', 'library'].map(box).join('\n')}
${arrow(deskLeft, middle, left + relayWidth, middle, `${count(isDesk, isRelay)}`)}
${arrow(places.get('cli')[0] + width / 2, 30 + height, places.get('cli')[0] + width / 2, bodyTop, '')}
${arrow(places.get('cli')[0], 52, left + relayWidth - 20, bodyTop, '')}
${arrow(places.get('library')[0] + width / 2, 30 + height, places.get('library')[0] + width / 2, bodyTop, '')}
</svg>
`
if (back > 0) throw new Error(`the relay imports the desk ${back} times`)
const withoutSizes = text => text.replace(/[\d,]+ lines/g, 'lines').replace(/>\d+<\/text>/g, '></text>')
if (process.argv.includes('--check')) {
  if (withoutSizes(readFileSync(target, 'utf8')) !== withoutSizes(svg)) throw new Error('docs/house.svg: run node scripts/drawing.mjs')
} else writeFileSync(target, svg)
