/** Readers of single variables. Each throws `invalid_argument` that names the variable; empty counts as not set. */
import { isIP } from 'node:net'
import { fail, type AppError } from '../../../shared/errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export const refuse = (name: string, reason: string): AppError => fail('invalid_argument', { field: name, reason })

/** The variable without blanks around it; '' when it is not set. */
export const textOf = (env: Environment, name: string): string => (env[name] ?? '').trim()

interface Range {
  readonly fallback: number
  readonly min: number
  readonly max: number
}

const inRange = (name: string, text: string, kind: string, { min, max }: Range): number => {
  const value = Number(text)
  if (value < min || value > max) throw refuse(name, `"${text}" must be ${kind} between ${min} and ${max}`)
  return value
}

/** A whole number in decimal digits. */
export const integerOf = (env: Environment, name: string, range: Range): number => {
  const text = textOf(env, name)
  if (!text) return range.fallback
  if (!/^\d{1,15}$/.test(text)) throw refuse(name, `"${text}" must be an integer between ${range.min} and ${range.max}`)
  return inRange(name, text, 'an integer', range)
}

/** A number in decimal digits, with a fraction or without. */
export const numberOf = (env: Environment, name: string, range: Range): number => {
  const text = textOf(env, name)
  if (!text) return range.fallback
  if (!/^\d{1,15}(\.\d{1,9})?$/.test(text))
    throw refuse(name, `"${text}" must be a number between ${range.min} and ${range.max}`)
  return inRange(name, text, 'a number', range)
}

export const choiceOf = <T extends string>(env: Environment, name: string, choices: readonly [T, ...T[]]): T => {
  const value = (textOf(env, name) || choices[0]) as T
  if (!choices.includes(value)) throw refuse(name, `"${value}" must be one of ${choices.join(', ')}`)
  return value
}

/** Words between commas, each once. */
export const listOf = (env: Environment, name: string): string[] => {
  const text = textOf(env, name)
  const words = text ? text.split(',').map(word => word.trim()) : []
  if (words.includes('')) throw refuse(name, `"${text}" has nothing between two commas or at an end`)
  const twice = words.find((word, index) => words.indexOf(word) !== index)
  if (twice !== undefined) throw refuse(name, `"${twice}" is there twice`)
  return words
}

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
const labelPattern = new RegExp(`^${label}$`)
const domainPattern = new RegExp(`^(?=.{1,253}$)${label}(\\.${label})*$`, 'i')

/** One part of a DNS name, lower case: regions become part of addresses. */
export const isLabel = (word: string): boolean => labelPattern.test(word)

/** An address or a host name to listen on. */
export const hostOf = (env: Environment, name: string, fallback: string): string => {
  const text = textOf(env, name) || fallback
  // Four numbers are meant as an address, and a wrong one is no name either.
  if (isIP(text) === 0 && (!domainPattern.test(text) || /^[\d.]+$/.test(text)))
    throw refuse(name, `"${text}" is neither an IP address nor a host name`)
  return text
}

export const domainOf = (env: Environment, name: string): string => {
  const text = textOf(env, name)
  if (text && (!domainPattern.test(text) || isIP(text) !== 0))
    throw refuse(name, `"${text}" is not a domain name, like sandboxes.example.com`)
  return text.toLowerCase()
}

/** Without slashes at its end; '' when it is not set. */
export const urlOf = (env: Environment, name: string): string => {
  const text = textOf(env, name)
  if (!text) return ''
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw refuse(name, `"${text}" must be an http or https URL`)
  if (url.username || url.password || url.search || url.hash)
    throw refuse(name, 'must be a URL without credentials, query and fragment')
  return text.replace(/\/+$/, '')
}
