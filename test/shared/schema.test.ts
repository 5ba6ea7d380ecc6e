import t from 'tap'
import { flag, intText, parse, s, text, toJsonSchema } from '../../shared/schema.ts'

const shape = s.object({
  name: text(5),
  size: s.optional(s.int().check(s.minimum(1))),
  tags: s.optional(s.array(s.string())),
})

t.test('a wrong value is refused with the path of the first wrong field', async t => {
  const cases: [unknown, string][] = [
    [{}, 'name: is missing'],
    [{ name: 7 }, 'name: must be a string'],
    [{ name: 'toolong' }, 'name: must be at most 5 characters'],
    [{ name: 'a\0' }, 'name: must not contain NUL'],
    [{ name: 'a', size: 0 }, 'size: must be at least 1'],
    [{ name: 'a', size: 1.5 }, 'size: must be an integer'],
    [{ name: 'a', size: '1' }, 'size: must be a number'],
    [{ name: 'a', tags: ['x', 7] }, 'tags.1: must be a string'],
    [[], 'must be an object'],
    [undefined, 'is missing'],
  ]
  for (const [value, reason] of cases) {
    t.throws(() => parse(shape, value, 'body'), { code: 'invalid_body', message: `invalid request body: ${reason}` })
    t.throws(() => parse(shape, value, 'query'), { code: 'invalid_argument', status: 400 })
  }
  t.throws(() => parse(shape, {}, 'query'), { message: 'name: is missing' })
  t.throws(() => parse(s.string(), 7, 'params'), { message: 'params: must be a string' })
  t.throws(() => parse(s.enum(['a', 'b']), 'c', 'config'), { message: 'config: must be one of a, b' })
})

t.test('what is not declared is left out, names of Object.prototype too', async t => {
  const value = JSON.parse('{"name":"a","other":1,"__proto__":{"size":3},"constructor":1}')
  t.same(parse(shape, value, 'body'), { name: 'a' })
})

t.test('flags and numbers of a query', async t => {
  for (const [value, wanted] of [
    ['true', true],
    ['TRUE', false],
    ['1', false],
    ['', false],
    [undefined, false],
  ] as const)
    t.equal(parse(flag(), value, 'query'), wanted)
  const number = intText(1, 9)
  for (const [value, wanted] of [
    ['7', 7],
    ['07', 7],
    ['', undefined],
    [undefined, undefined],
  ] as const)
    t.equal(parse(number, value, 'query'), wanted)
  for (const value of ['0', '10', 'x', '1.5', '1e1', ' 1', '0x1', '9'.repeat(400)])
    t.throws(() => parse(number, value, 'query'), { code: 'invalid_argument' }, value)
  t.throws(() => parse(intText(), '9'.repeat(40), 'query'), { code: 'invalid_argument' }, 'beyond exact numbers')
})

t.test('the document tells what may be sent', async t => {
  t.match(toJsonSchema(shape), { type: 'object', required: ['name'], properties: { name: { maxLength: 5 } } })
  t.match(toJsonSchema(flag()), { type: ['boolean', 'string'] }, 'and any text, which is false')
  t.match(toJsonSchema(intText(1, 9)), { type: ['integer', 'string'], pattern: '^$', minimum: 1, maximum: 9 })
  t.notOk('$schema' in toJsonSchema(shape))
})
