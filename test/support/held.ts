/** Holds answers that came over a socket to the OpenAPI document of their API, which the API itself is asked for. */
import type { OpenApi } from '../../shared/http/openapi.ts'
import { documented, type Answered } from './as-documented.ts'

/** What is not as the document has it; undefined when all is, or when the path is none of the document's. `target` may have a query. */
export type ProblemOf = (method: string, target: string, answer: Answered) => string | undefined

interface Place {
  readonly template: string
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

/** Templates of a path that have fewer names come first, as they do in the router. */
const placesOf = ({ paths }: OpenApi): Place[] =>
  Object.entries(paths)
    .map(([template, operations]) => ({
      template,
      pattern: new RegExp(
        `^${template.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replaceAll(/\{\w+\}/g, '[^/]+')}$`,
      ),
      methods: Object.keys(operations),
    }))
    .toSorted((one, other) => one.template.split('{').length - other.template.split('{').length)

export const holding = (document: OpenApi): ProblemOf => {
  const { problemAt } = documented(document)
  const places = placesOf(document)
  return (method, target, answer) => {
    const [path = ''] = target.split('?')
    const wanted = method.toLowerCase()
    const place = places.find(({ pattern, methods }) => methods.includes(wanted) && pattern.test(path))
    return place && problemAt(place.template, wanted, answer)
  }
}

/** The documents of each set of routes that was met, compiled once: tests start many servers of one build. */
const met = new Map<string, ProblemOf>()

/** Of the management API at `url`. */
export const held = async (url: string): Promise<ProblemOf> => {
  const text = await (await fetch(`${url}/v0/openapi.json`)).text()
  const { servers: _, ...document } = JSON.parse(text) as OpenApi
  const key = JSON.stringify(document)
  const known = met.get(key) ?? holding(JSON.parse(text) as OpenApi)
  met.set(key, known)
  return known
}
