"""A model of finalized features: levels, requests, registration and the metadata log. Pure: no sockets, no clock."""
