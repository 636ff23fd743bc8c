"""A model of finalised features: levels, requests, registration and the metadata log. Pure: no sockets, no clock."""
