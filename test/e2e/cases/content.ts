import { answer, legacy, modern, on, outcome, request, result, session, type Case } from '../cases.js'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const block = (text: string) => ({ result: `{"content":[{"type":"text","text":"First."},${text}]}` })
const link = (uri: string) => block(`{"type":"resource_link","name":"page","uri":"${uri}"}`)
const annotated = (annotations: string) =>
  block(`{"type":"text","text":"Second.","annotations":${annotations}}`)

/** A prompt, a resource or the instructions, as the model will read them. */
const reading =
  (name: string, method: string, params: string, said: string, verdict: Case['verdict']): Case =>
    session({
      name,
      rule: 'content/hidden-text',
      revision: legacy,
      verdict,
      event: method,
      reactions: [on(method, answer('7', said))],
      steps: [{ send: request(legacy, '7', method, params), gets: [answer('7', said)] }],
    })

export const contentCases: readonly Case[] = [
  // content/type
  outcome(
    'content/type', 'a block of an unknown type passes', 'log',
    block('{"type":"video","data":"AAAA","mimeType":"video/mp4"}'),
  ),
  outcome('content/type', 'audio was unknown in 2024-11-05', 'log', {
    ...block('{"type":"audio","data":"AAAA","mimeType":"audio/wav"}'), revisions: ['2024-11-05'],
    also: ['content/mime'],
  }),
  outcome('content/type', 'every type of the revision is known', 'pass', block(
    `{"type":"image","data":"${png}","mimeType":"image/png"},{"type":"resource_link","name":"a","uri":"https://a.example/"},{"type":"resource","resource":{"uri":"file:///a.txt","text":"a"}}`,
  )),

  // content/base64
  outcome(
    'content/base64', 'an image that is no base64 is refused', 'block',
    block('{"type":"image","data":"<svg/>","mimeType":"image/svg+xml"}'),
  ),
  outcome('content/base64', 'audio that is no base64 is refused', 'block', {
    ...block('{"type":"audio","data":"AAA","mimeType":"audio/wav"}'), revisions: [legacy],
    also: ['content/mime'],
  }),
  outcome('content/base64', 'a blob within a resource is looked at too', 'block', block(
    '{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/octet-stream","blob":"%%%%"}}',
  )),
  outcome('content/base64', 'base64 is base64', 'pass', {
    ...block(
      '{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/octet-stream","blob":"AAEC/+8="}}',
    ),
    revisions: [legacy],
  }),

  // content/mime
  outcome(
    'content/mime', 'a media type that is none passes', 'log',
    { ...block(`{"type":"image","data":"${png}","mimeType":"picture"}`), revisions: [legacy] },
  ),
  outcome(
    'content/mime', 'a PNG that says that it is a JPEG passes', 'log',
    block(`{"type":"image","data":"${png}","mimeType":"image/jpeg"}`),
  ),
  outcome('content/mime', 'a media type with parameters is one', 'pass', { ...block(
    '{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain; charset=utf-8","text":"a"}}',
  ), revisions: [legacy] }),

  // content/uri
  outcome('content/uri', 'a link that is a script passes', 'log', link('javascript:alert(1)')),
  outcome(
    'content/uri', 'a link with a password passes', 'log',
    { ...link('https://me:secret@a.example/'), revisions: [legacy] },
  ),
  outcome(
    'content/uri', 'a link that climbs passes', 'log',
    { ...link('file:///data/../../etc/passwd'), revisions: [modern] },
  ),
  outcome('content/uri', 'the URI of an embedded resource is looked at too', 'log', {
    ...block('{"type":"resource","resource":{"uri":"javascript:alert(1)","text":"a"}}'), revisions: [legacy],
  }),
  outcome(
    'content/uri', 'links to pages, files and schemes of the server are fine', 'pass',
    { ...link('demo://resource/1?a=b..c'), revisions: [legacy] },
  ),

  // content/annotations
  outcome('content/annotations', 'a priority beyond 1 passes', 'log', annotated('{"priority":2}')),
  outcome(
    'content/annotations', 'an unknown audience passes', 'log',
    { ...annotated('{"audience":["robot"]}'), revisions: [legacy] },
  ),
  outcome(
    'content/annotations', 'a date that is none passes', 'log',
    { ...annotated('{"lastModified":"yesterday"}'), revisions: [legacy] },
  ),
  outcome(
    'content/annotations', 'annotations within the specification are fine', 'pass',
    annotated('{"priority":0.5,"audience":["user","assistant"],"lastModified":"2026-11-20T12:00:00Z"}'),
  ),

  // content/hidden-text
  outcome(
    'content/hidden-text', 'hidden text in the second block passes', 'log',
    block('{"type":"text","text":"a\u200bb"}'),
  ),
  outcome('content/hidden-text', 'where the operator wants it, hidden text is refused', 'block', {
    ...block('{"type":"text","text":"\u{e0041}"}'), options: ['--rule', 'content/hidden-text=block'],
    revisions: [modern],
  }),
  outcome('content/hidden-text', 'hidden text in an embedded resource passes', 'log', {
    ...block('{"type":"resource","resource":{"uri":"file:///a","text":"\u202eevil"}}'), revisions: [legacy],
  }),
  outcome(
    'content/hidden-text', 'emoji, line ends and replacement characters are no hidden text', 'pass',
    block(String.raw`{"type":"text","text":"👩‍👩‍👧‍👦 ❤️ � \n\t می‌خواهم"}`),
  ),
  reading(
    'hidden text in a prompt passes', 'prompts/get', '"name":"p"',
    '{"messages":[{"role":"user","content":{"type":"text","text":"a\u200bb"}}]}', 'log',
  ),
  reading(
    'a prompt without hidden text is fine', 'prompts/get', '"name":"p"',
    '{"messages":[{"role":"user","content":{"type":"text","text":"ab"}}]}', 'pass',
  ),
  reading(
    'hidden text in a resource passes', 'resources/read', '"uri":"file:///a"',
    '{"contents":[{"uri":"file:///a","text":"\u202eevil"}]}', 'log',
  ),
  session({
    name: 'hidden text in the instructions passes',
    rule: 'content/hidden-text',
    revision: modern,
    verdict: 'log',
    event: 'server/discover',
    reactions: [on('server/discover', answer('7', result(
      modern,
      '{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"a\u200bb","ttlMs":0,"cacheScope":"public"}',
    )))],
    steps: [{
      send: request(modern, '7', 'server/discover'),
      gets: [answer('7', result(
        modern,
        '{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"a\u200bb","ttlMs":0,"cacheScope":"public"}',
      ))],
    }],
  }),

  // advice/*: heard in `inspect` alone.
  outcome(
    'advice/json-in-text', 'JSON in text is no business of a relay', 'pass',
    { ...block('{"type":"text","text":"{\\"a\\":1}"}'), revisions: [legacy] },
  ),
  outcome(
    'advice/vague-error', 'a vague error is no business of a relay', 'pass',
    { result: '{"content":[{"type":"text","text":"Error"}],"isError":true}', revisions: [legacy] },
  ),
].flat()
