import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { ChannelResponse } from '#relay/transport/channel/exchange.js'
import { FrontEnd } from '#relay/transport/channel/front-end.js'
import { RelayEnd } from '#relay/transport/channel/relay-end.js'
import { Wire, type WireKind } from '#relay/transport/channel/wire.js'
import { RequestArrival } from '#relay/transport/front/arrival.js'
import { Quota } from '#relay/transport/front/quota.js'
import type { FrontResponse } from '#relay/transport/front/request.js'
import { duplexPair } from '#test/duplex.js'
import { portOf } from '#test/kit/http.js'

const nothing = Buffer.alloc(0)

/** A front whose relay process is lost when told. */
const front = async (t: Test, serve: (response: FrontResponse) => void) => {
  const [near, far] = duplexPair()
  const ignore = () => undefined
  const end = new FrontEnd(near, {
    calls: {}, bodies: new Quota(() => 1e9), named: ignore,
  })
  const relay = new RelayEnd(far, {
    serve: (_, response) => serve(response), calls: {}, closed: ignore,
  })
  let shared = 0
  const server = createServer((request, response) => {
    end.handOver({ request, response, arrival: new RequestArrival(request), place: () => (shared += 1) })
  })
  const port = await portOf(t, server)
  const ask = async (): Promise<IncomingMessage> => {
    const request = httpRequest({ port, method: 'POST', agent: false })
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }
  /** A request is with the relay process, and its ids are with the front. */
  const arrived = async () => {
    while (relay.inFlight === 0) await turns(1)
    relay.flush()
    await turns(5)
  }
  return { end, port, ask, arrived, places: () => shared }
}

const textOf = async (response: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
  return text
}

const lengthOf = async (response: IncomingMessage): Promise<number> => {
  let length = 0
  for await (const chunk of response) length += (chunk as Buffer).length
  return length
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate)
}

const idsIn = (text: string): readonly string[] =>
  [...text.matchAll(/"id":("[^"]*"|\w+)/g)].map(([, id = '']) => id)

t.test('a response that came whole is not cut when its relay process is lost, however slowly it is read', async t => {
  const bytes = 16 * 1024 * 1024
  const state = { isSent: false }
  const { end, ask } = await front(t, response => {
    response.writeHead(200)
    response.end(Buffer.alloc(bytes, 'x'))
    if (response instanceof ChannelResponse) response.once('finish', () => (state.isSent = true))
  })
  const response = await ask()
  let read = 0
  // The client reads until the relay process has sent all: the front holds the last part.
  while (!state.isSent) {
    read += ((response.read() ?? nothing) as Buffer).length
    await turns(1)
  }
  await turns(5)
  t.ok(read < bytes)
  end.lose()
  t.equal(read + await lengthOf(response), bytes)
})

t.test('a response of which a part did not come is cut', async t => {
  const { end, ask } = await front(t, response => {
    response.writeHead(200)
    response.write(Buffer.from('a part'))
  })
  const response = await ask()
  end.lose()
  await t.rejects(lengthOf(response))
})

t.test('each request of a batch gets an error when its relay process is lost', async t => {
  const { end, ask, arrived } = await front(t, response => response.setPending?.(['1', '"b"', '3']))
  const asked = ask()
  await arrived()
  end.lose()
  const response = await asked
  t.equal(response.statusCode, 502)
  const errors = JSON.parse(await textOf(response)) as { readonly id: unknown; readonly error: object }[]
  t.match(errors, [1, 'b', 3].map(id => ({ id, error: { code: -31001 } })))
})

t.test('on a stream only the requests that have no response get an error', async t => {
  const { end, ask } = await front(t, response => {
    response.setPending?.(['1', '"b"', '3'])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.sendHead?.()
    response.write(Buffer.from('data: {"id":"b"}\n\n'))
    response.setAnswered?.(['"b"'])
  })
  const response = await ask()
  await once(response, 'readable')
  await turns(5)
  end.lose()
  t.same(idsIn(await textOf(response)), ['"b"', '1', '3'])
})

t.test('a head that no client got does not count as got, although it is at the front', async t => {
  for (const [begins, isGot] of [[false, false], [true, true]] as const) {
    let response: FrontResponse | undefined
    const { port, arrived } = await front(t, given => (response = given))
    const request = httpRequest({ port, method: 'POST', agent: false })
    request.on('error', () => undefined).end()
    await arrived()
    if (!(response instanceof ChannelResponse)) return t.fail('no response')
    response.writeHead(200)
    if (begins) response.sendHead()
    // The front has it after some turns; without a body it is not written to the client.
    await turns(5)
    request.destroy()
    await once(response, 'close')
    t.equal(response.headersSent, isGot)
  }
})

t.test('a place is free when its relay process is lost', async t => {
  const { end, ask, arrived, places } = await front(t, response => response.setPending?.(['1']))
  const asked = ask()
  await arrived()
  end.lose()
  t.match(await textOf(await asked), /"id":1/)
  t.equal(places(), 1)
})

t.test('a body that is refused for lack of room is never at its end: the server gets no part of it', async t => {
  const [near, far] = duplexPair()
  const ignore = () => undefined
  const heard: WireKind[] = []
  const wire = new Wire(far, { frame: kind => void heard.push(kind), closed: ignore })
  const end = new FrontEnd(near, {
    calls: {}, bodies: new Quota(() => 1000), named: ignore,
  })
  const server = createServer((request, response) => {
    end.handOver({ request, response, arrival: new RequestArrival(request), place: undefined })
  })
  const request = httpRequest({ port: await portOf(t, server), method: 'POST', agent: false })
  request.write('x'.repeat(500))
  while (!heard.includes('body')) await turns(1)
  request.end('x'.repeat(800))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  t.equal(response.statusCode, 503)
  await textOf(response)
  while (!heard.includes('gone')) await turns(1)
  t.same(heard, ['open', 'body', 'gone'])
  wire.close()
})
