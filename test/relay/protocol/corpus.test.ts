import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { slice } from '#relay/protocol/scan.js'
import { parseFrame } from '#relay/protocol/parse.js'

/** What real servers sent, where it is at hand: beside the repository. */
const corpus = new URL('../../../../shared/corpus/', import.meta.url)
const limits = { messageBytes: 16 * 1024 * 1024, depth: 128 }

const linesOf = (file: URL): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(line => line.trim() !== '') : []

t.test('messages of real servers have no faults', { skip: !existsSync(corpus) && 'no corpus here' }, async t => {
  let read = 0
  for (const server of readdirSync(corpus)) {
    const at = (name: string) => linesOf(new URL(`${server}/${name}`, corpus))
    const calls =
      at('calls.jsonl').map(line => (JSON.parse(line) as { readonly response?: unknown }).response)
    for (const line of [...at('tools-list.jsonl'), ...calls.filter(one => typeof one === 'string')]) {
      const frame = parseFrame(Buffer.from(line), limits)
      const { faults, message } = frame
      const raw = slice(frame, [message.kind === 'error' ? 'error' : 'result'])
      t.same(faults, [], server)
      t.same(
        JSON.parse(String(raw)),
        message.kind === 'result' ? message.result : message.kind === 'error' ? message.error : undefined,
      )
      read++
    }
  }
  t.ok(read > 100, `${read} messages`)
})
