"""Forecasts of what a step does to a live group: the group is continued by the simulation, from its own bytes."""

# mypy: implicit-reexport
from streams_assignor.spark_sim.forecast.forecast import Forecast, Outcome, forecast
from streams_assignor.spark_sim.forecast.observation import ForecastError, observe
from streams_assignor.spark_sim.forecast.operations import Operation, parse_operation
from streams_assignor.spark_sim.forecast.restart_order import Cost, CostRange, RestartOrder, restart_order
from streams_assignor.spark_sim.forecast.streams_group import forecast_streams_group, streams_restart_order
