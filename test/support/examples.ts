/** What tools find wrong with an API's document. */
import { Ajv2020 } from 'ajv/dist/2020.js'

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Examples that are not what their own schema says: addresses in the document (JSON pointers), with what is wrong. `count` is of all examples that were looked at. */
export const wrongExamples = (document: object): { wrong: string[]; count: number } => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', ...document })
  const wrong: string[] = []
  let count = 0
  const look = (value: unknown, place: string): void => {
    if (!isObject(value)) return
    const { examples } = value
    if (Array.isArray(examples) && !place.endsWith('/properties')) {
      const valid = ajv.compile({ $ref: `document#${place}` })
      for (const example of examples as unknown[]) {
        count++
        if (!valid(example)) wrong.push(`${place} ${JSON.stringify(example)}: ${ajv.errorsText(valid.errors)}`)
      }
    }
    for (const [key, member] of Object.entries(value))
      look(member, `${place}/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
  }
  look(document, '')
  return { wrong, count }
}

/** Operations that do not say how they are refused. */
export const unrefused = ({ paths }: { paths: object }): string[] =>
  Object.values(paths as Record<string, Record<string, { operationId: string; responses: object }>>)
    .flatMap(path => Object.values(path))
    .filter(({ responses }) => !Object.keys(responses).some(status => status.startsWith('4')))
    .map(({ operationId }) => operationId)
