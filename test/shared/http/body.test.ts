import t from 'tap'
import { bodyOf, parseJson } from '../../../shared/http/body.ts'

t.test('JSON in every alphabet is read, and what is none is told', t => {
  for (const value of [{ command: 'true' }, 'naïve', '日本語 🎉', '\u0000\u007f\u0080ÿ'])
    t.same(parseJson(Buffer.from(JSON.stringify(value))), value)
  t.equal(parseJson(Buffer.from('"\\u00e9\\n"')), 'é\n')
  t.equal(parseJson(Buffer.from('\ufeff"ö"')), 'ö', 'a byte order mark is none of it')
  t.equal(parseJson(Buffer.alloc(0)), undefined)
  t.throws(() => parseJson(Buffer.from('{')), { code: 'invalid_body', message: /not JSON/ })
  t.throws(() => parseJson(Buffer.from([0x22, 0xc3, 0x22])), { code: 'invalid_body', message: /not UTF-8/ })
  t.end()
})

t.test('no stream is made of a body that is there already', async t => {
  const request = {
    whole: Buffer.from('{}'),
    get body(): never {
      throw new Error('nobody needs it')
    },
  }
  t.equal(await bodyOf(request, 2), request.whole)
  await t.rejects(bodyOf(request, 1), { code: 'payload_too_large' })
})
