/** What requests of OpenAI's chats have in common on their way to another dialect. */
import { fail } from '../../../../shared/errors.ts'
import { isObject, listOf, member, parsed, textOr, type Json, type JsonObject } from '../json.ts'

/** What says nothing: absent, null, or what is so anyhow. */
const saysNothing = (value: Json, usual: Json): boolean =>
  value === undefined || value === null || JSON.stringify(value) === JSON.stringify(usual)

/** Members that mean nothing beyond what happens without them. */
const usual: JsonObject = {
  n: 1,
  logprobs: false,
  frequency_penalty: 0,
  presence_penalty: 0,
  store: false,
  parallel_tool_calls: true,
  service_tier: 'auto',
  logit_bias: {},
}

/** Throws `invalid_argument` naming the first member that the provider has nothing for. */
export const needKnown = (body: JsonObject, known: readonly string[], provider: string): void => {
  for (const [name, value] of Object.entries(body))
    if (!known.includes(name) && !saysNothing(value, usual[name]))
      throw fail('invalid_argument', { field: name, reason: `is nothing that ${provider} could be asked for` })
}

export const refuse = (field: string, reason: string) => fail('invalid_argument', { field, reason })

export interface Message {
  readonly role: string
  readonly message: JsonObject
  /** `messages.3` */
  readonly field: string
}

/** Throws `invalid_argument` for what are no messages. */
export const messagesOf = (body: JsonObject): Message[] => {
  const all = listOf(body['messages'])
  if (all.length === 0) throw refuse('messages', 'must be a list of messages')
  return all.map((message, index) => {
    const field = `messages.${index}`
    if (!isObject(message)) throw refuse(field, 'must be a message')
    return { role: textOr(message['role']), message, field }
  })
}

export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'link'; readonly url: string }

const imageOf = (part: Json, field: string): Part => {
  const url = textOr(member(member(part, 'image_url'), 'url'))
  const [, mediaType = '', data = ''] = /^data:([\w.+/-]+);base64,([\w+/=-]*)$/.exec(url) ?? []
  if (data) return { type: 'image', mediaType, data }
  if (/^https?:\/\//.test(url)) return { type: 'link', url }
  throw refuse(`${field}.image_url.url`, 'must be an http address or a data URL in base64')
}

/** The parts of a message's content. Throws `invalid_argument` for a kind that is not known. */
export const partsOf = ({ message, field }: Message): Part[] => {
  const content = message['content']
  if (typeof content === 'string') return content ? [{ type: 'text', text: content }] : []
  return listOf(content).map((part, index) => {
    const type = member(part, 'type')
    if (type === 'text') return { type: 'text', text: textOr(member(part, 'text')) }
    if (type === 'image_url') return imageOf(part, `${field}.content.${index}`)
    throw refuse(`${field}.content.${index}.type`, `"${textOr(type)}" cannot be translated`)
  })
}

export const textOf = (message: Message): string =>
  partsOf(message)
    .map(part => {
      if (part.type !== 'text') throw refuse(`${message.field}.content`, `of the role "${message.role}" must be text`)
      return part.text
    })
    .join('')

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: JsonObject
}

export const toolCallsOf = ({ message, field }: Message): ToolCall[] =>
  listOf(message['tool_calls']).map((call, index) => {
    const made = member(call, 'function')
    const given = parsed(textOr(member(made, 'arguments'), '{}') || '{}')
    if (!isObject(given)) throw refuse(`${field}.tool_calls.${index}.function.arguments`, 'must be a JSON object')
    return { id: textOr(member(call, 'id')), name: textOr(member(made, 'name')), arguments: given }
  })

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export const toolsOf = (body: JsonObject): Tool[] =>
  listOf(body['tools']).map((tool, index) => {
    const made = member(tool, 'function')
    if (member(tool, 'type') !== 'function' || !isObject(made))
      throw refuse(`tools.${index}.type`, 'only functions can be translated')
    const parameters = made['parameters']
    return {
      name: textOr(made['name']),
      description: textOr(made['description']),
      parameters: isObject(parameters) ? parameters : { type: 'object', properties: {} },
    }
  })

/** `auto`, `none`, `required`, or the name of the one that has to be called. */
export const toolChoiceOf = (body: JsonObject): { readonly mode: string; readonly name?: string } | undefined => {
  const choice = body['tool_choice']
  if (choice === undefined || choice === null) return undefined
  if (typeof choice === 'string') return { mode: choice }
  const name = textOr(member(member(choice, 'function'), 'name'))
  if (!name) throw refuse('tool_choice', 'must be auto, none, required or a function')
  return { mode: 'one', name }
}

/** The schema that an answer has to be of; `json` for any JSON. */
export const formatOf = (body: JsonObject): JsonObject | 'json' | undefined => {
  const format = body['response_format']
  const type = member(format, 'type')
  if (format === undefined || format === null || type === 'text') return undefined
  if (type === 'json_object') return 'json'
  const schema = member(member(format, 'json_schema'), 'schema')
  if (type === 'json_schema' && isObject(schema)) return schema
  throw refuse('response_format', 'must be text, json_object or a json_schema with its schema')
}

/** Members that have a value. */
export const present = (members: Readonly<Record<string, Json>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null))

export const stopsOf = (body: JsonObject): Json => {
  const { stop } = body
  return typeof stop === 'string' ? [stop] : stop
}
