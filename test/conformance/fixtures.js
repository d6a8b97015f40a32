// The tools, resources and prompts whose names and results the conformance suite prescribes.
import { setTimeout as pause } from 'node:timers/promises'
import {
  CLIENT_CAPABILITIES_META_KEY,
  McpServer,
  ResourceTemplate,
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
} from '@modelcontextprotocol/server'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const state = createRequestStateCodec({ key: 'a key for the conformance suite, and for nothing else' })

const text = words => ({ content: [{ type: 'text', text: words }] })
const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required })
const string = { type: 'string' }

/** Returns the client's answer to `key`, or undefined when it has not been asked yet, or declined. */
const answered = (ctx, key) => acceptedContent(ctx.mcpReq.inputResponses, key)

const elicit = (message, properties, required) => inputRequired.elicit({ message, requestedSchema: object(properties, required) })

const sample = (words, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: words } }], maxTokens })

/** What the client declared, with the request or in the handshake. */
const capabilitiesOf = (server, ctx) => ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities() ?? {}

/** @param notify tells the open subscriptions of modern clients that a list has changed */
export function fixtureServer(notify) {
  const server = new McpServer(
    { name: 'conformance-fixtures', version: '1.0.0' },
    {
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
      },
      requestState: { verify: state.verify },
    },
  )
  addTools(server, notify)
  addInputTools(server)
  addResources(server)
  addPrompts(server)
  return server
}

function addTools(server, notify) {
  const tool = (name, description, run, inputSchema = { type: 'object' }) =>
    server.registerTool(name, { description, inputSchema: fromJsonSchema(inputSchema) }, run)

  tool('test_simple_text', 'Returns text', () => text('This is a simple text response for testing.'))
  tool('test_image_content', 'Returns an image', () => ({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] }))
  tool('test_audio_content', 'Returns audio', () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] }))
  tool('test_embedded_resource', 'Returns a resource', () => ({
    content: [{ type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' } }],
  }))
  tool('test_multiple_content_types', 'Returns text, an image and a resource', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' } },
    ],
  }))
  tool('test_error_handling', 'Always fails', () => {
    throw new Error('This tool intentionally returns an error for testing')
  })

  tool('test_tool_with_logging', 'Logs three times', async (_, ctx) => {
    await ctx.mcpReq.log('info', 'Tool execution started')
    await pause(50)
    await ctx.mcpReq.log('info', 'Tool processing data')
    await pause(50)
    await ctx.mcpReq.log('info', 'Tool execution completed')
    return text('Tool with logging executed successfully')
  })
  tool('test_logging_tool', 'Logs where the request allows it', async (_, ctx) => {
    await ctx.mcpReq.log('info', 'Logged')
    return text('Logged')
  })
  tool('test_tool_with_progress', 'Reports progress three times', async (_, ctx) => {
    const { progressToken } = ctx.mcpReq._meta ?? {}
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      }
      await pause(50)
    }
    return text('Tool with progress executed successfully')
  })
  tool('test_reconnection', 'Cuts its stream before it answers', async (_, ctx) => {
    ctx.http?.closeSSE?.()
    await pause(100)
    return text('Reconnected')
  })

  tool('test_trigger_tool_change', 'Says that the list of tools has changed', () => {
    notify?.toolsChanged()
    return text('Changed')
  })
  tool('test_trigger_prompt_change', 'Says that the list of prompts has changed', () => {
    notify?.promptsChanged()
    return text('Changed')
  })
  tool('test_x_mcp_header', 'Takes a parameter that is mirrored in a header', ({ region }) => text(`Region: ${region}`), {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  })
  tool('json_schema_2020_12_tool', 'Tool with JSON Schema 2020-12 features', () => text('ok'), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } } },
    properties: {
      name: string,
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: string,
      email: string,
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  })
}

/** Tools that ask the client: by requests of their own until 2025-11-25, by results since. */
function addInputTools(server) {
  const tool = (name, description, run, inputSchema = { type: 'object' }) =>
    server.registerTool(name, { description, inputSchema: fromJsonSchema(inputSchema) }, run)
  const ask = (inputRequests, requestState) => inputRequired({ inputRequests, ...(requestState !== undefined && { requestState }) })

  tool('test_sampling', 'Asks the model', ({ prompt }, ctx) => {
    const given = ctx.mcpReq.inputResponses?.sample
    return given === undefined ? ask({ sample: sample(prompt) }) : text(`LLM response: ${given.content?.text}`)
  }, object({ prompt: string }))

  /** A tool that asks for a form, and says what came of it. */
  const form = (name, description, message, properties, required, inputSchema) =>
    tool(name, description, (given, ctx) => {
      const answer = ctx.mcpReq.inputResponses?.form
      if (answer === undefined) return ask({ form: elicit(message ?? given.message, properties, required) })
      return text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)
    }, inputSchema)

  form('test_elicitation', 'Asks the user', undefined, {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  }, ['username', 'email'], object({ message: string }))
  form('test_streaming_elicitation', 'Asks the user', 'Anything to say?', { words: string }, [])
  form('test_elicitation_sep1034_defaults', 'Asks with defaults', 'Please review the defaults', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  }, [])
  const titled = (...pairs) => pairs.map(([value, title]) => ({ const: value, title }))
  form('test_elicitation_sep1330_enums', 'Asks with every kind of enumeration', 'Please choose', {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled(['value1', 'First Option'], ['value2', 'Second Option'], ['value3', 'Third Option']) },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled(['value1', 'First Choice'], ['value2', 'Second Choice'], ['value3', 'Third Choice']) } },
  }, [])

  tool('test_input_required_result_elicitation', 'Asks for a name', (_, ctx) => {
    const user = answered(ctx, 'user_name')
    return user === undefined ? ask({ user_name: elicit('What is your name?', { name: string }) }) : text(`Hello, ${user.name}!`)
  })
  // A client that did not declare sampling gets an error instead of the question; the SDK sees to that.
  tool('test_missing_capability', 'Needs sampling', (_, ctx) => {
    const given = ctx.mcpReq.inputResponses?.sample
    return given === undefined ? ask({ sample: sample('Are you there?') }) : text('The client can sample')
  })
  tool('test_input_required_result_sampling', 'Asks the model', (_, ctx) => {
    const given = ctx.mcpReq.inputResponses?.capital_question
    return given === undefined ? ask({ capital_question: sample('What is the capital of France?') }) : text(given.content?.text ?? '')
  })
  tool('test_input_required_result_list_roots', 'Asks for roots', (_, ctx) => {
    const given = ctx.mcpReq.inputResponses?.client_roots
    return given === undefined ? ask({ client_roots: inputRequired.listRoots() }) : text(given.roots.map(root => root.uri).join(' '))
  })
  tool('test_input_required_result_request_state', 'Keeps a state', async (_, ctx) => {
    if (answered(ctx, 'confirm') !== undefined && ctx.mcpReq.requestState() === 'asked') return text('state-ok')
    return ask({ confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) }, await state.mint('asked'))
  })
  tool('test_input_required_result_tampered_state', 'Keeps a state that nobody can change', async (_, ctx) => {
    if (answered(ctx, 'confirm') !== undefined && ctx.mcpReq.requestState() === 'asked') return text('state-ok')
    return ask({ confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) }, await state.mint('asked'))
  })
  tool('test_input_required_result_multiple_inputs', 'Asks for everything at once', async (_, ctx) => {
    const given = ctx.mcpReq.inputResponses ?? {}
    if (given.user_name && given.greeting && given.client_roots) return text('Everything is there')
    return ask({
      user_name: elicit('What is your name?', { name: string }),
      greeting: sample('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    }, await state.mint('asked'))
  })
  tool('test_input_required_result_multi_round', 'Asks twice', async (_, ctx) => {
    const round = ctx.mcpReq.requestState()
    const color = answered(ctx, 'step2')
    if (round?.name !== undefined && color !== undefined) return text(`${round.name} likes ${color.color}`)
    const user = answered(ctx, 'step1')
    if (round === 'step1' && user !== undefined) {
      return ask({ step2: elicit('Step 2: What is your favorite color?', { color: string }) }, await state.mint({ name: user.name }))
    }
    return ask({ step1: elicit('Step 1: What is your name?', { name: string }) }, await state.mint('step1'))
  })
  tool('test_input_required_result_capabilities', 'Asks for what the client can do', (_, ctx) => {
    const { sampling, elicitation, roots } = capabilitiesOf(server, ctx)
    if (ctx.mcpReq.inputResponses !== undefined) return text('Thank you')
    return ask({
      ...(sampling && { greeting: sample('Generate a greeting') }),
      ...(elicitation && { user_name: elicit('What is your name?', { name: string }) }),
      ...(roots && { client_roots: inputRequired.listRoots() }),
    })
  })
}

function addResources(server) {
  const resource = (name, uri, description, mimeType, content) =>
    server.registerResource(name, uri, { description, mimeType }, () => ({ contents: [{ uri, mimeType, ...content }] }))

  resource('static-text', 'test://static-text', 'Text', 'text/plain', { text: 'This is the content of the static text resource.' })
  resource('static-binary', 'test://static-binary', 'An image', 'image/png', { blob: png })
  resource('watched-resource', 'test://watched-resource', 'Can be subscribed to', 'text/plain', { text: 'Watched' })
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('template', template, { description: 'Data by id', mimeType: 'application/json' }, (uri, { id }) => ({
    contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }],
  }))
  server.server.setRequestHandler('resources/subscribe', () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', () => ({}))
}

function addPrompts(server) {
  const user = content => ({ role: 'user', content })
  const prompt = (name, description, run, argsSchema) =>
    server.registerPrompt(name, { description, ...(argsSchema && { argsSchema: fromJsonSchema(argsSchema) }) }, run)

  prompt('test_simple_prompt', 'No arguments', () => ({ messages: [user({ type: 'text', text: 'This is a simple prompt for testing.' })] }))
  prompt('test_prompt_with_arguments', 'Two arguments', ({ arg1, arg2 }) => ({
    messages: [user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` })],
  }), object({ arg1: string, arg2: string }))
  prompt('test_prompt_with_embedded_resource', 'Embeds a resource', ({ resourceUri }) => ({
    messages: [
      user({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
      user({ type: 'text', text: 'Please process the embedded resource above.' }),
    ],
  }), object({ resourceUri: string }))
  prompt('test_prompt_with_image', 'Embeds an image', () => ({
    messages: [user({ type: 'image', data: png, mimeType: 'image/png' }), user({ type: 'text', text: 'Please analyze the image above.' })],
  }))
  prompt('test_input_required_result_prompt', 'Asks for context', ctx => {
    const given = answered(ctx, 'user_context')
    if (given === undefined) {
      return inputRequired({ inputRequests: { user_context: elicit('What context should the prompt use?', { context: string }) } })
    }
    return { messages: [user({ type: 'text', text: `Context: ${given.context}` })] }
  })
  server.server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }))
}
