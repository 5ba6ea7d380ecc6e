/**
 * Texts with placeholders: `{{SECRET:name}}` and, in rules only, `{{FUNC:name(argument)}}`.
 * A text is read once, so what is put in is never looked at again: a secret that holds braces stays what it is.
 */
import { callFunction, type FunctionDeps } from './functions.ts'

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'secret'; readonly name: string; readonly text: string }
  | {
      readonly kind: 'function'
      readonly name: string
      readonly argument: number | undefined
      readonly text: string
    }

export interface Template {
  readonly parts: readonly Part[]
}

const placeholder = /\{\{SECRET:([A-Za-z0-9_.-]{1,256})\}\}|\{\{FUNC:([A-Za-z0-9_]{1,32})(?:\((\d{0,16})\))?\}\}/g

/** At most so many functions are called for one request. */
const maxCalls = 10

/** Reads a text of a rule. Whatever looks like a placeholder and is none stays text. */
export const parseTemplate = (text: string): Template => {
  const parts: Part[] = []
  let at = 0
  for (const match of text.matchAll(placeholder)) {
    if (match.index > at) parts.push({ kind: 'text', text: text.slice(at, match.index) })
    const [whole, secret, name, argument] = match
    if (secret !== undefined) parts.push({ kind: 'secret', name: secret, text: whole })
    else
      parts.push({
        kind: 'function',
        name: (name as string).toLowerCase(),
        argument: argument ? Number(argument) : undefined,
        text: whole,
      })
    at = match.index + whole.length
  }
  if (at < text.length) parts.push({ kind: 'text', text: text.slice(at) })
  return { parts }
}

/** What one request has called so far: `target` is the header or field the value went into. */
export interface Calls {
  left: number
  readonly made: { readonly target: string; readonly name: string; readonly value: string }[]
}

export const newCalls = (): Calls => ({ left: maxCalls, made: [] })

/**
 * The text with everything put in, or undefined when a secret it needs is not among `secrets`. Functions that are unknown, out of
 * range or beyond the budget stay as they were written.
 */
export const fillTemplate = (
  template: Template,
  target: string,
  secrets: ReadonlyMap<string, string>,
  calls: Calls,
  deps: FunctionDeps,
): string | undefined => {
  for (const part of template.parts) if (part.kind === 'secret' && !secrets.has(part.name)) return undefined
  let text = ''
  for (const part of template.parts) {
    if (part.kind === 'secret') text += secrets.get(part.name) as string
    else if (part.kind === 'text' || calls.left === 0) text += part.text
    else {
      const value = callFunction(part.name, part.argument, deps)
      if (value !== undefined) {
        calls.left--
        calls.made.push({ target, name: part.name, value })
      }
      text += value ?? part.text
    }
  }
  return text
}

/** How a secret is written where it is put: as it is, inside a JSON string, inside a form. */
export type Writing = 'plain' | 'json' | 'form'

const write: Readonly<Record<Writing, (secret: string) => string>> = {
  plain: secret => secret,
  json: secret => JSON.stringify(secret).slice(1, -1),
  form: secret => encodeURIComponent(secret),
}

const sent = /\{\{SECRET:([A-Za-z0-9_.-]{1,256})\}\}/g
const sentInForm = /(?:\{|%7B){2}SECRET(?::|%3A)([A-Za-z0-9_.-]{1,256})(?:\}|%7D){2}/gi

/** Puts secrets into what the sandbox itself sent. A name that is not among them stays text. */
export const fillSent = (text: string, secrets: ReadonlyMap<string, string>, writing: Writing): string =>
  text.replace(writing === 'form' ? sentInForm : sent, (whole, name: string) => {
    const secret = secrets.get(name)
    return secret === undefined ? whole : write[writing](secret)
  })

/** Whether there may be a placeholder of the sandbox's in it; cheap. */
export const mayHoldPlaceholder = (text: string): boolean => /SECRET(?::|%3A)/i.test(text)
