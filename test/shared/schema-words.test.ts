import t from 'tap'
import { parse, s, text } from '../../shared/schema.ts'

const wrong: [string, s.ZodMiniType, unknown, string][] = [
  ['a kind', s.object({ name: s.string() }), { name: 5 }, 'name: must be a string'],
  ['nothing', s.object({ name: s.string() }), {}, 'name: is missing'],
  ['a choice', s.object({ kind: s.enum(['a', 'b']) }), { kind: 'c' }, 'kind: must be one of a, b'],
  ['a number', s.object({ count: s.int().check(s.minimum(3)) }), { count: 1 }, 'count: must be at least 3'],
  ['a length', s.object({ name: text(3) }), { name: 'long' }, 'name: must be at most 3 characters'],
  ['a field too many', s.strictObject({}), { color: 1 }, 'query: has no field color'],
]

t.test(
  'what is wrong is said in our words, also when another library has loaded those of the schema library',
  async t => {
    const words = () => {
      for (const [what, shape, value, message] of wrong)
        t.throws(() => parse(shape, value, 'query'), { message: new RegExp(message) }, what)
    }
    words()
    const { localeError } = s.config()
    t.teardown(() => s.config({ localeError }))
    s.config(s.locales.en())
    words()
  },
)
