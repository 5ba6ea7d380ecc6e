/** The documentation page: everything it needs is in it, since a sandbox may reach no other host. */
export const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sandbox API</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
  h2 { margin-top: 2rem; text-transform: capitalize; border-bottom: 1px solid #ddd }
  summary { cursor: pointer; padding: .3rem 0 }
  code, pre { font: 13px/1.4 ui-monospace, monospace }
  pre { background: #f6f6f6; padding: .6rem; overflow: auto }
  .method { display: inline-block; min-width: 4.5rem; font-weight: 600 }
  .get { color: #0a6 } .post { color: #06c } .put { color: #b60 } .delete { color: #c22 } .patch { color: #83c }
  table { border-collapse: collapse } td, th { text-align: left; padding: .15rem 1rem .15rem 0; vertical-align: top }
</style>
<h1>Sandbox API</h1>
<p><a href="doc.json">Swagger 2.0</a> · <a href="openapi.json">OpenAPI 3.1</a></p>
<main>Loading…</main>
<script>
  const element = (name, attributes, ...children) => {
    const made = Object.assign(document.createElement(name), attributes)
    made.append(...children)
    return made
  }
  const shape = schema => element('pre', {}, JSON.stringify(schema, null, 2))
  const row = (...cells) => element('tr', {}, ...cells.map(cell => element('td', {}, cell)))
  const operation = (method, path, one) => {
    const body = one.requestBody && Object.entries(one.requestBody.content)[0]
    return element('details', {},
      element('summary', {},
        element('span', { className: 'method ' + method }, method.toUpperCase()),
        element('code', {}, path), ' — ' + one.summary),
      element('table', {}, ...one.parameters.map(parameter =>
        row(element('code', {}, parameter.name), parameter.in, parameter.schema.type || '', parameter.required ? 'required' : ''))),
      ...(body ? [element('p', {}, 'Body, ' + body[0]), shape(body[1].schema)] : []),
      element('table', {}, ...Object.entries(one.responses).map(([status, answer]) =>
        row(status, answer.description, Object.keys(answer.content || {}).join(', ')))),
      ...(one.responses[200]?.content?.['application/json'] ? [shape(one.responses[200].content['application/json'].schema)] : []))
  }
  const show = api => {
    const all = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => ({ path, method, one })))
    document.querySelector('main').replaceChildren(...api.tags.flatMap(tag => [
      element('h2', {}, tag.name),
      ...all.filter(({ one }) => one.tags.includes(tag.name)).map(({ path, method, one }) => operation(method, path, one)),
    ]))
  }
  fetch('openapi.json').then(answer => answer.json()).then(show, error => {
    document.querySelector('main').textContent = 'Cannot load openapi.json: ' + error
  })
</script>
</html>
`
