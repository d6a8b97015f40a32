import t from 'tap'
import { parse } from 'yaml'
import { changed } from '#desk/install/yaml-change.js'

const texts = {
  blocks: 'version: 1\n# ours\nservers:\n  shop:   # the shop\n    command: [node, a.js]\n    tools:\n      pay: deny   # never\n  # more\npolicy: standard\n',
  'no tools': 'servers:\n  shop:\n    url: https://a.example/\n',
  'no line end': 'servers:\n    shop:\n        command:\n            - node',
  flow: 'servers: { shop: { command: [a], tools: { x: {} } }, b: { command: [b] } }\n',
  JSON: '{\n  "servers": {\n    "shop": { "command": ["a"] }\n  }\n}\n',
} as const

const relaxed = (text: string, tool: string): unknown =>
  (parse(text) as { servers: { shop: { tools?: Record<string, { relaxed?: boolean }> } } })
    .servers.shop.tools?.[tool]?.relaxed

t.test('a member is added to a configuration and removed again, and every other byte stays', async t => {
  for (const [title, before] of Object.entries(texts)) {
    for (const tool of ['get_price', '*', 'a b: "c"']) {
      const path = ['servers', 'shop', 'tools', tool, 'relaxed']
      const after = changed(before, path, false) ?? ''
      t.equal(relaxed(after, tool), true, `${title}: ${tool}`)
      t.equal(changed(after, path, true), before, `${title}: ${tool} is taken back`)
      const other = ['servers', 'shop', 'tools', 'other', 'relaxed']
      const left = changed(changed(after, other, false) ?? '', path, true) ?? ''
      t.same(parse(left), parse(changed(before, other, false) ?? ''), `${title}: the other stays`)
    }
  }
})

t.test('where the text has no place for it, nothing is changed', async t => {
  const path = ['servers', 'shop', 'tools', 'pay', 'relaxed']
  t.equal(changed(texts.blocks, path, false), undefined, 'a tool that is denied')
  t.equal(changed('servers:\n  shop: &a\n    command: [a]\n  b: *a\n', ['servers', 'b', 'tools', 'x', 'relaxed'], false), undefined)
  t.equal(changed('servers:\n  shop:\n', path, false), undefined, 'a server without members')
})
