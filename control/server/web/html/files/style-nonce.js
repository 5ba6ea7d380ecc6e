// xterm.js makes style elements; the page's policy lets those pass that carry its nonce.
{
  const nonce = document.querySelector('meta[name=style-nonce]').content
  const create = document.createElement.bind(document)
  document.createElement = (name, options) => {
    const made = create(name, options)
    if (String(name).toLowerCase() === 'style') made.nonce = nonce
    return made
  }
}
