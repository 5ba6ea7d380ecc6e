// Swagger UI on the documents of this host alone. A key that is typed in stays in this page's memory.
const { management, workload, first } = document.getElementById('explorer').dataset
SwaggerUIBundle({
  dom_id: '#explorer',
  urls: [
    { name: 'Management API', url: management },
    { name: 'Sandbox API', url: workload },
  ],
  'urls.primaryName': first,
  layout: 'StandaloneLayout',
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  deepLinking: true,
  docExpansion: 'none',
  persistAuthorization: false,
  validatorUrl: null,
  withCredentials: false,
})
